/** Brings an element's end into sight. Scrolls the panel alone, not a notebook around it. */
export function showWithin(panel: Element | null, el: HTMLElement): void {
  if (!panel) return;
  const below = el.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom;
  if (below > 0) panel.scrollTop += below;
}
