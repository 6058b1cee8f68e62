// Where the keyboard's focus is, and that it stays.

import { useLayoutEffect } from "preact/hooks";

/** What has the focus in this document or shadow root. */
export function focused(inside: Node): Element | null {
  const root = inside.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/**
 * Gives `root` the focus when what had it in there is gone, as a field is that undo takes away with
 * its node: else the next key would be the page's, which in JupyterLab is the notebook's.
 */
export function useKeptFocus(root: HTMLElement): void {
  useLayoutEffect(() => {
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
  }, [root]);
}
