/** Scroll the panel to show the end of an element, without scrolling the notebook. */
export function showWithin(panel: Element | null, el: HTMLElement): void {
  if (!panel) return;
  const below = el.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below;
}
