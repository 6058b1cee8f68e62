// Other components of the workbench on the page, possibly in their own shadow roots.

/** Return the root of another component, the closest one to `root`. */
export function siblingOf(root: Element, component: string): HTMLElement | null {
  for (let place: Element | null = root; place; place = parentOf(place)) {
    const found = within(place, `.wb-${component}`);
    if (found) return found;
  }
  return null;
}

/** Return the nearest ancestor of `el` that matches, across shadow roots. */
export function closestAround(el: Element, selector: string): HTMLElement | null {
  for (let place: Element | null = el; place; place = parentOf(place)) {
    if (place instanceof HTMLElement && place.matches(selector)) return place;
  }
  return null;
}

/** Return a control of another component if it is on the page and enabled. */
export function controlOf(root: Element, component: string, selector: string): HTMLElement | null {
  const found = siblingOf(root, component)?.querySelector<HTMLElement>(selector);
  return found && !found.hidden && !found.matches(":disabled") ? found : null;
}

/** Return whether an event's target is in the workbench of `root`. */
export function isInSameWorkbench(root: Element, target: Element): boolean {
  const part = target.closest<HTMLElement>(".wb");
  const name = part?.dataset["wb"];
  return !!part && !!name && (part === root || siblingOf(root, name) === part);
}

function parentOf(el: Element): Element | null {
  const root = el.getRootNode();
  return el.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

function within(place: Element, selector: string): HTMLElement | null {
  const roots: ParentNode[] = [place];
  if (place.shadowRoot) roots.push(place.shadowRoot);
  for (const root of roots) {
    const found = root.querySelector<HTMLElement>(selector);
    if (found) return found;
    for (const el of root.querySelectorAll("*")) if (el.shadowRoot) roots.push(el.shadowRoot);
  }
  return null;
}
