// Copies nodes as Python code to the clipboard; without a clipboard, shows the code to copy
// manually.

import { useEffect, useRef, useState } from "preact/hooks";
import { copyText } from "../../lib/files";
import { Icon } from "../../lib/icons";
import { useCanvasStore } from "../state/context";

/** Handles the response from Python. */
export function CodeCopy() {
  const store = useCanvasStore();
  const [refused, setRefused] = useState("");
  const pop = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const take = async (): Promise<void> => {
      const { text = "" } = store.link.get("copied_code", {});
      // Python notifies all pages of the workbench, but only one has requested the code.
      if (!store.wantsCode || !text) return;
      store.wantsCode = false;
      if (await copyText(text)) {
        const lines = text.trimEnd().split("\n").length;
        store.say(`${lines} ${lines === 1 ? "line" : "lines"} of Python copied`);
      } else setRefused(text);
      // Copying by selection moves the focus.
      if (!store.dom.root.matches(":focus-within")) store.dom.focus(store.current);
    };
    return store.link.on("copied_code", () => void take());
  }, [store]);
  useEffect(() => {
    if (!refused) return;
    pop.current?.showPopover();
    pop.current?.querySelector("textarea")?.select();
  }, [refused]);
  if (!refused) return null;
  return (
    <div
      ref={pop}
      class="wb-pop wb-code-copy nowheel"
      popover="auto"
      role="dialog"
      aria-label="Code to copy"
      data-wb="code-copy"
      onKeyDown={(event) => event.key !== "Escape" && event.stopPropagation()}
      onToggle={(event) => event.newState === "closed" && setRefused("")}
    >
      <p>This page cannot use the clipboard. Copy the lines with Ctrl C.</p>
      <textarea readOnly rows={10} spellcheck={false} aria-label="Python lines" value={refused} />
      <button type="button" aria-label="Close" onClick={() => pop.current?.hidePopover()}>
        <Icon name="close" size={13} />
      </button>
    </div>
  );
}
