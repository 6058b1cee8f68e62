// Whether the workbench owns the page, as in the web app: address, keys and drops then belong to
// it.

export function isPage(root: HTMLElement): boolean {
  const inLab = document.body.dataset["jpThemeLight"] !== undefined;
  return !inLab && root.getRootNode() instanceof ShadowRoot;
}
