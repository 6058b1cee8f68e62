// Readable form of a file: notebooks cell by cell, other files unchanged.

interface Cell {
  cell_type: string;
  source: string | string[];
}

/** Return a notebook as a script in the percent format (`# %%` starts a cell), or other text. */
export function readable(path: string, text: string): string {
  if (!path.endsWith(".ipynb")) return text;
  try {
    const { cells } = JSON.parse(text) as { cells: Cell[] };
    return cells.map(toPercentCell).join("\n\n");
  } catch {
    return text;
  }
}

function toPercentCell({ cell_type, source }: Cell): string {
  const words = Array.isArray(source) ? source.join("") : source;
  if (cell_type === "code") return `# %%\n${words}`;
  const lines = words.split("\n").map((line) => `# ${line}`.trimEnd());
  return [`# %% [${cell_type}]`, ...lines].join("\n");
}
