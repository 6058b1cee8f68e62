// Open records: chosen, or dropped on the panel.

import { useRef } from "preact/hooks";
import { WordButton } from "../lib/button";
import type { Speed } from "./controls";

const LARGEST = 16_000_000;

async function read(file: File | undefined, link: Speed): Promise<void> {
  if (!file) return;
  // Python reports invalid records; a file that is too large is not read.
  const text = file.size > LARGEST ? " ".repeat(LARGEST + 1) : await file.text();
  link.ask("open", { text, name: file.name });
}

export function OpenButton({ link }: { link: Speed }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <span>
      <WordButton
        label="Open a record"
        name="open-record"
        icon="file"
        data-tip="A record is the file that `workbench bench --json` writes. It can be dropped here too."
        onClick={() => input.current!.click()}
      />
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label="Record to open"
        data-wb="open-file"
        onChange={({ currentTarget: el }) => {
          void read(el.files?.[0], link);
          el.value = "";
        }}
      />
    </span>
  );
}

/** Handle dropped files before the bar, which would look for a graph in them. */
export function acceptDroppedRecords(root: HTMLElement, link: Speed): () => void {
  const over = (event: DragEvent): void => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
    root.dataset["drop"] = "";
  };
  const leave = (event: DragEvent): void => {
    if (!root.contains(event.relatedTarget as Node | null)) delete root.dataset["drop"];
  };
  const drop = (event: DragEvent): void => {
    delete root.dataset["drop"];
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    void read(file, link);
  };
  root.addEventListener("dragover", over);
  root.addEventListener("dragleave", leave);
  root.addEventListener("drop", drop);
  return () => {
    root.removeEventListener("dragover", over);
    root.removeEventListener("dragleave", leave);
    root.removeEventListener("drop", drop);
  };
}
