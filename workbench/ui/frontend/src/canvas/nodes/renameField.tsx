// A name that is being written in its box.

import { useCanvasStore, useCanvasState } from "../state/context";
import { isOutput, outputOf } from "../layout/geometry";

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
      aria-label={`New name of ${name}`}
      defaultValue={name}
      spellcheck={false}
      maxLength={60}
      ref={(el) => {
        el?.focus();
        el?.select();
      }}
      onBlur={(event) => end(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Enter" && event.key !== "Escape") return;
        event.preventDefault();
        end(event.key === "Enter" ? event.currentTarget.value.trim() : null);
        store.dom.focus(id);
      }}
    />
  );
}
