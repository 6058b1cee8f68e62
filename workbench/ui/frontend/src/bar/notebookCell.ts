// The present graph as a cell of the notebook, so that its cells say what is shown.

import type { CellEntry } from "../payloads";
import { copyText } from "../lib/files";

interface SharedNotebook {
  cells: { id?: string; getId?(): string }[];
  insertCell(index: number, cell: { cell_type: "code"; source: string; metadata: object }): unknown;
}

/** Puts the code below the cell that made the workbench. Returns what to tell the user. */
export async function insertCell(manager: unknown, { source = "", after = "" }: Partial<CellEntry>): Promise<string> {
  // JupyterLab's manager of widgets knows its notebook; that of other front ends does not.
  const notebook = (manager as { context?: { model?: { sharedModel?: SharedNotebook } } } | undefined)
    ?.context?.model?.sharedModel;
  const at = notebook?.cells?.findIndex((cell) => (cell.getId?.() ?? cell.id) === after) ?? -1;
  if (notebook && at >= 0) {
    notebook.insertCell(at + 1, { cell_type: "code", source: source.trimEnd(), metadata: {} });
    return "The cell below shows this graph when it is run.";
  }
  return (await copyText(source))
    ? "The code of a cell was copied: paste it into a new cell of your notebook."
    : "The code of a cell could not be copied: this page has no clipboard.";
}
