// Light or dark, as the host is: JupyterLab's own sign or VS Code's, a page's declared theme, the
// colour the page is painted in, and last what the system prefers.

const SIGNS = [
  "data-jp-theme-light",
  "data-vscode-theme-kind",
  "data-bs-theme",
  "data-theme",
  "class",
  "style",
];

/** Keeps `data-theme` on `root` in step with the host. Returns what ends that. */
export function followTheme(root: HTMLElement): () => void {
  const apply = (): void => {
    root.dataset["theme"] = isDark() ? "dark" : "light";
  };
  const observer = new MutationObserver(apply);
  for (const el of [document.documentElement, document.body]) {
    observer.observe(el, { attributes: true, attributeFilter: SIGNS });
  }
  const preference = matchMedia("(prefers-color-scheme: dark)");
  preference.addEventListener("change", apply);
  apply();
  return () => {
    observer.disconnect();
    preference.removeEventListener("change", apply);
  };
}

function isDark(): boolean {
  const lab = document.body.dataset["jpThemeLight"];
  if (lab !== undefined) return lab === "false";
  const code = document.body.dataset["vscodeThemeKind"];
  if (code !== undefined) return !code.includes("light");
  for (const el of [document.body, document.documentElement]) {
    const declared = el.dataset["bsTheme"] ?? el.dataset["theme"];
    if (declared === "dark" || declared === "light") return declared === "dark";
  }
  for (const el of [document.body, document.documentElement]) {
    const painted = luminance(getComputedStyle(el).backgroundColor);
    if (painted !== null) return painted < 0.4;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Of an opaque `rgb(...)`, from 0 to 1; null for anything see-through or in another notation. */
function luminance(colour: string): number | null {
  const parts = /^rgba?\(([^)]+)\)$/
    .exec(colour)?.[1]
    ?.split(/[\s,/]+/)
    .map(Number);
  if (!parts || parts.length < 3 || (parts[3] ?? 1) < 0.5) return null;
  const [red = 0, green = 0, blue = 0] = parts;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
