/** Scroll an element's end into view. Only the panel scrolls, not the notebook around it. */
export function showWithin(panel: Element | null, el: HTMLElement): void {
  if (!panel) return;
  const below = el.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below;
}
