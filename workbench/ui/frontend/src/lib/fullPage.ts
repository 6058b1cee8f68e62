// Whether the workbench has the page to itself, as in the web app: then the page's address, keys and
// drops are its own.

export function isPage(root: HTMLElement): boolean {
  const inLab = document.body.dataset["jpThemeLight"] !== undefined;
  return !inLab && root.getRootNode() instanceof ShadowRoot;
}
