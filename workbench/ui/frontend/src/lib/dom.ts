// A few lines in place of a framework: make elements, change only what differs, keep lists keyed.

export type Child = Node | string | null | undefined | false;
type Attribute = string | number | boolean | null | undefined;
// Handlers take the event that their name says; TypeScript cannot tell from a computed key.
type Props = Record<string, Attribute | ((event: any) => void)>;

/** An element. `onclick` and the like are listeners, everything else is an attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") el.addEventListener(name.slice(2), value);
    else attr(el, name, value);
  }
  el.append(...children.filter((child): child is Node | string => !!child));
  return el;
}

/**
 * Makes these the children of an element. Where they are so already nothing moves: an element that
 * is taken out and put back between press and release gets no click, and loses the focus.
 */
export function arrange(el: Element, ...children: Element[]): void {
  const now = el.children;
  if (now.length === children.length && children.every((child, i) => child === now[i])) return;
  el.replaceChildren(...children);
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  props: Record<string, Attribute> = {},
  ...children: Node[]
): SVGElementTagNameMap[K] {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) attr(el, name, value);
  el.append(...children);
  return el;
}

/** Sets, or with null and false removes, an attribute; does nothing where it is so already. */
export function attr(el: Element, name: string, value: Attribute): void {
  if (value === null || value === undefined || value === false) {
    if (el.hasAttribute(name)) el.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (el.getAttribute(name) !== text) el.setAttribute(name, text);
}

export function text(el: Element, value: string): void {
  if (el.textContent !== value) el.textContent = value;
}

export function show(el: HTMLElement, visible: boolean): void {
  if (el.hidden === visible) el.hidden = !visible;
}

/** What has the focus in this document or shadow root. */
export function focused(inside: Node): Element | null {
  const root = inside.getRootNode();
  return root instanceof Document || root instanceof ShadowRoot ? root.activeElement : null;
}

/** Where an item's element is remembered between updates. */
export class Keyed<T, E extends HTMLElement = HTMLElement> {
  private elements = new Map<string, E>();

  constructor(
    private parent: Element,
    private key: (item: T, index: number) => string,
    private make: (item: T) => E,
    private update: (el: E, item: T, index: number) => void = () => undefined,
  ) {}

  get(key: string): E | undefined {
    return this.elements.get(key);
  }

  /** Adds, moves and removes elements so that they follow `items`; those that stay are kept. */
  draw(items: readonly T[]): void {
    const next = new Map<string, E>();
    items.forEach((item, index) => {
      let key = this.key(item, index);
      while (next.has(key)) key += "'";
      const el = this.elements.get(key) ?? this.make(item);
      next.set(key, el);
      this.update(el, item, index);
      const at = this.parent.children[index];
      if (at !== el) this.parent.insertBefore(el, at ?? null);
    });
    for (const [key, el] of this.elements) if (!next.has(key)) el.remove();
    this.elements = next;
  }
}
