// Dialog to open a graph: a file, a shared picture, or pasted text.

import type { ComponentChildren, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../lib/icons";
import { Popover } from "../lib/popover";
import { readFile, type DroppedGraph } from "./importGraph";

interface Props {
  into: DroppedGraph;
  handle: RefObject<HTMLDivElement | null>;
  /** Called before the dialog opens. */
  opening: () => void;
  /** Content below the other options. */
  children: ComponentChildren;
}

export function OpenGraph({ into, handle, opening, children }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const close = (): void => handle.current!.hidePopover();
  const openFile = (): void => {
    const file = input.current!.files?.[0];
    close();
    // so that the same file can be selected again
    if (file) void readFile(file, into).finally(() => (input.current!.value = ""));
  };
  const openText = (event: Event): void => {
    event.preventDefault();
    const { value } = area.current!;
    if (!value.trim()) return area.current!.focus();
    close();
    into.text(value, ""); // the text remains, so that a typo can be fixed
  };
  return (
    <>
      <Popover
        handle={handle}
        label="Open a graph"
        align="end"
        opening={opening}
        button={{ class: "wb-link", "data-wb": "open", children: "Open" }}
      >
        <form class="wb-bar-open" onSubmit={openText}>
          <button
            class="wb-quiet"
            type="button"
            autofocus
            data-wb="open-choose"
            onClick={() => input.current!.click()}
          >
            <Icon name="file" size={14} />
            Choose a file
          </button>
          <p class="wb-ask-head">A graph (JSON), an exported program, or a shared picture (PNG). Or drop one here.</p>
          <textarea
            ref={area}
            class="wb-val"
            rows={4}
            spellcheck={false}
            placeholder={'{"format": "dali-workbench-graph", ...}'}
            aria-label="Graph as JSON text"
            data-wb="open-text"
            onFocus={(event) => event.currentTarget.select()}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) openText(event);
            }}
          />
          <button class="wb-btn" type="submit" data-wb="open-now">
            Open text
          </button>
        </form>
        {children}
      </Popover>
      <input
        ref={input}
        type="file"
        accept=".json,.png,.py,.ipynb,application/json,image/png"
        hidden
        aria-label="Graph file or shared picture to open"
        data-wb="open-file"
        onChange={openFile}
      />
    </>
  );
}
