// Light or dark theme, as in the host: from JupyterLab or VS Code, the page's declared theme, the
// page's background colour, and finally the system preference.

const SIGNS = [
  "data-jp-theme-light",
  "data-vscode-theme-kind",
  "data-bs-theme",
  "data-theme",
  "class",
  "style",
];

/** Keep `data-theme` of `root` in sync with the host. Returns a function that stops this. */
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

/** Return the luminance (0 to 1) of an opaque `rgb(...)`; null for other colours. */
function luminance(colour: string): number | null {
  const parts = /^rgba?\(([^)]+)\)$/
    .exec(colour)?.[1]
    ?.split(/[\s,/]+/)
    .map(Number);
  if (!parts || parts.length < 3 || (parts[3] ?? 1) < 0.5) return null;
  const [red = 0, green = 0, blue = 0] = parts;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
