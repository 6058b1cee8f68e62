/** What has the focus in this document or shadow root. */
export function focused(inside: Node): Element | null {
  const root = inside.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}
