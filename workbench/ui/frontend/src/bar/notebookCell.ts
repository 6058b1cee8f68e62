// The current graph as code of a notebook cell.

import type { CellEntry } from "../payloads";
import { copyText } from "../lib/files";

interface SharedNotebook {
  cells: { id?: string; getId?(): string }[];
  insertCell(index: number, cell: { cell_type: "code"; source: string; metadata: object }): unknown;
}

/** Insert the code below the cell that created the workbench. Returns a message. */
export async function insertCell(manager: unknown, { source = "", after = "" }: Partial<CellEntry>): Promise<string> {
  // JupyterLab's widget manager has access to the notebook; those of other front ends do not.
  const notebook = (manager as { context?: { model?: { sharedModel?: SharedNotebook } } } | undefined)
    ?.context?.model?.sharedModel;
  const at = notebook?.cells?.findIndex((cell) => (cell.getId?.() ?? cell.id) === after) ?? -1;
  if (notebook && at >= 0) {
    notebook.insertCell(at + 1, { cell_type: "code", source: source.trimEnd(), metadata: {} });
    return "Run the cell below to show this graph.";
  }
  return (await copyText(source))
    ? "Code copied. Paste it into a new cell of your notebook."
    : "The code could not be copied: this page cannot use the clipboard.";
}
