// Name field inside a box.

import { useCanvasStore, useCanvasState } from "../state/context";
import { isOutput, outputOf } from "../layout/geometry";

/** Convert typed text like Python: spaces and hyphens become underscores. */
const asName = (typed: string): string => typed.trimStart().replace(/[\s-]/g, "_");
const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;

export function RenameField({ id, name }: { id: string; name: string }) {
  const store = useCanvasStore();
  const renaming = useCanvasState((state) => state.renaming === id);
  if (!renaming) return null;
  const end = (to: string | null): void => {
    if (store.get().renaming !== id) return;
    store.set({ renaming: "" });
    if (!to || to === name) return;
    store.link.ask("rename", { node: id, to });
    if (isOutput(id)) store.select([], new Set([`${outputOf(id).scope}:${to}`]));
  };
  return (
    <input
      className="wb-rename nodrag nopan"
      data-wb="rename"
      aria-label={`New name for ${name}`}
      defaultValue={name}
      spellcheck={false}
      maxLength={60}
      ref={(el) => {
        el?.focus();
        el?.select();
      }}
      onInput={({ currentTarget: field }) => {
        field.setCustomValidity("");
        const caret = field.selectionStart;
        field.value = asName(field.value);
        field.setSelectionRange(caret, caret);
      }}
      onBlur={(event) => end(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Enter" && event.key !== "Escape") return;
        event.preventDefault();
        const field = event.currentTarget;
        if (event.key === "Enter" && field.value && !NAME.test(field.value)) {
          field.setCustomValidity("Use a Python name: letters, digits and _, not starting with a digit");
          field.reportValidity(); // the typed text remains
          return;
        }
        end(event.key === "Enter" ? field.value : null);
        store.dom.focus(id);
      }}
    />
  );
}
