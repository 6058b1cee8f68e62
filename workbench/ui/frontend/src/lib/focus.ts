// Keyboard focus.

/** Return the focused element in this document or shadow root. */
export function focusedElement(inside: Node): Element | null {
  const root = inside.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/**
 * Focus `root` when its focused element is removed, such as a field whose node is removed by undo:
 * otherwise the next key reaches the page, which in JupyterLab is the notebook. Returns a function
 * that stops this.
 */
export function recoverFocus(root: HTMLElement): () => void {
  let last: Element | null = null;
  const into = ({ target }: FocusEvent): void => {
    last = target as Element;
  };
  const out = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget) last = null;
  };
  const press = (event: PointerEvent): void => {
    if (!event.composedPath().includes(root)) last = null;
  };
  const restore = (): void => {
    if (!last || last.isConnected || !root.isConnected) return;
    root.tabIndex = -1;
    root.focus({ preventScroll: true });
  };
  const gone = new MutationObserver(restore);
  gone.observe(root, { childList: true, subtree: true });
  root.addEventListener("focusin", into);
  root.addEventListener("focusout", out);
  document.addEventListener("pointerdown", press, true);
  return () => {
    gone.disconnect();
    root.removeEventListener("focusin", into);
    root.removeEventListener("focusout", out);
    document.removeEventListener("pointerdown", press, true);
  };
}
