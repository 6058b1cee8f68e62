// Menus and cards in the browser's top layer, so that no host clips them.

import { h } from "./dom";

interface Options {
  label: string;
  align?: "start" | "end";
  role?: "dialog" | "menu";
  /** Before it is shown: to fill it in. What has `autofocus` then gets the focus. */
  opening?: () => void;
  opened?: () => void;
}

/** A popover that `anchor` opens and closes; Escape and a click elsewhere close it too. */
export function popover(
  anchor: HTMLButtonElement,
  options: Options,
  ...children: Node[]
): HTMLElement {
  const { label, align = "start", role = "dialog" } = options;
  const pop = h(
    "div",
    { class: "wb-pop", popover: "auto", role, "aria-label": label },
    ...children,
  );
  anchor.popoverTargetElement = pop;
  anchor.setAttribute("aria-haspopup", role);
  const follow = (): void => place(pop, anchor, align);
  pop.addEventListener("beforetoggle", (event) => {
    const open = (event as ToggleEvent).newState === "open";
    anchor.setAttribute("aria-expanded", String(open));
    const listen = open ? window.addEventListener : window.removeEventListener;
    listen.call(window, "scroll", follow, true);
    listen.call(window, "resize", follow);
    if (open) {
      options.opening?.();
      follow();
    } else if (pop.querySelector(":focus")) anchor.focus();
  });
  pop.addEventListener("toggle", (event) => {
    if ((event as ToggleEvent).newState !== "open") return;
    follow(); // now that its width is known
    options.opened?.();
  });
  return pop;
}

/** Under the anchor, or above it where there is more room; never beyond the window's left side. */
export function place(pop: HTMLElement, anchor: Element, align: "start" | "end"): void {
  const box = anchor.getBoundingClientRect();
  const below = innerHeight - box.bottom;
  const under = below > 260 || below > box.top;
  const width = document.documentElement.clientWidth;
  const right = Math.min(width - box.right, width - pop.offsetWidth - 8);
  Object.assign(pop.style, {
    top: under ? `${box.bottom + 6}px` : "auto",
    bottom: under ? "auto" : `${innerHeight - box.top + 6}px`,
    left: align === "start" ? `${Math.max(8, box.left)}px` : "auto",
    right: align === "end" ? `${Math.max(8, right)}px` : "auto",
    maxHeight: `${Math.max(120, (under ? below : box.top) - 18)}px`,
  });
}

/** A column of buttons: the first gets the focus, arrow keys, Home and End move it. */
export function menu(className = ""): HTMLElement {
  const el = h("div", { class: `wb-menu ${className}` });
  el.addEventListener("keydown", (event) => {
    const items = [...el.querySelectorAll<HTMLElement>("button")];
    const at = items.findIndex((item) => item.matches(":focus"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || !items.length) return;
    event.preventDefault();
    items.at(to % items.length)?.focus();
  });
  return el;
}

export function focusFirst(menu: HTMLElement): void {
  menu.querySelector("button")?.setAttribute("autofocus", "");
}
