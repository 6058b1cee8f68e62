// Open text files: chosen, or dropped on a panel.

import { useRef } from "preact/hooks";
import { WordButton } from "./button";

const LARGEST = 16_000_000;

/** Callback that opens a file, given its text and name. */
export type OpenText = (file: { text: string; name: string }) => void;

async function read(file: File | undefined, open: OpenText): Promise<void> {
  if (!file) return;
  // Python reports invalid files; a file that is too large is not read.
  const text = file.size > LARGEST ? " ".repeat(LARGEST + 1) : await file.text();
  open({ text, name: file.name });
}

interface Props {
  /** Kind of file: `record` or `result`. */
  what: string;
  tip: string;
  open: OpenText;
}

export function OpenButton({ what, tip, open }: Props) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <span>
      <WordButton
        label={`Open a ${what}`}
        name={`open-${what}`}
        icon="file"
        data-tip={`${tip} It can be dropped here too.`}
        onClick={() => input.current!.click()}
      />
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        aria-label={`File of a ${what}`}
        data-wb="open-file"
        onChange={({ currentTarget: el }) => {
          void read(el.files?.[0], open);
          el.value = "";
        }}
      />
    </span>
  );
}

/** Handle dropped files before the bar does, which would search them for a graph. */
export function acceptDroppedFiles(root: HTMLElement, open: OpenText): () => void {
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
    void read(file, open);
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
