// Menus and dialogs in the browser's top layer, so that no host clips them.

import type { ComponentChildren, ComponentProps, RefObject, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Options {
  label: string;
  align?: "start" | "end";
  role?: "dialog" | "menu";
  /** Called before the popover is shown. An element with `autofocus` then gets the focus. */
  opening?: () => void;
  opened?: () => void;
}

interface Props extends Options {
  /** Handle for the caller to open and close the popover. */
  handle?: RefObject<HTMLDivElement | null>;
  /** Attributes of the button that opens and closes the popover. */
  button: ComponentProps<"button"> & { [data: `data-${string}`]: string | undefined };
  closed?: () => void;
  children: ComponentChildren;
}

/** Button with the popover that it opens; Escape and a click elsewhere close the popover. */
export function Popover({ handle, button, children, label, role = "dialog", ...options }: Props) {
  const anchor = useRef<HTMLButtonElement>(null);
  const own = useRef<HTMLDivElement>(null);
  const pop = handle ?? own;
  const latest = useRef(options);
  latest.current = options;
  useLayoutEffect(() => {
    const [from, card] = [anchor.current!, pop.current!];
    from.popoverTargetElement = card;
    const follow = (): void => place(card, from, latest.current.align ?? "start");
    const listen = (on: boolean): void => {
      const change = on ? window.addEventListener : window.removeEventListener;
      change.call(window, "scroll", follow, true);
      change.call(window, "resize", follow);
    };
    const before = (event: ToggleEvent): void => {
      const open = event.newState === "open";
      from.setAttribute("aria-expanded", String(open));
      listen(open);
      if (open) {
        latest.current.opening?.();
        follow();
      } else if (card.querySelector(":focus")) from.focus();
    };
    const after = (event: ToggleEvent): void => {
      if (event.newState !== "open") return latest.current.closed?.();
      follow(); // the width is known now
      latest.current.opened?.();
    };
    card.addEventListener("beforetoggle", before);
    card.addEventListener("toggle", after);
    return () => listen(false);
  }, []);
  return (
    <>
      <button type="button" aria-haspopup={role} {...button} ref={anchor} />
      <div class="wb-pop" popover="auto" role={role} aria-label={label} ref={pop}>
        {children}
      </div>
    </>
  );
}

interface MenuProps {
  class?: string;
  /** Role if the surrounding popover has none. */
  role?: "menu";
  children: ComponentChildren;
}

/** Column of buttons: arrow keys, Home and End move the focus. */
export function Menu({ class: look = "", role, children }: MenuProps) {
  const move = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const items = [...event.currentTarget.querySelectorAll<HTMLElement>("button:enabled")];
    const at = items.findIndex((item) => item.matches(":focus"));
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || !items.length) return;
    event.preventDefault();
    items.at(to % items.length)?.focus();
  };
  return (
    <div class={`wb-menu ${look}`} role={role} onKeyDown={move}>
      {children}
    </div>
  );
}

/** Place a popover below its anchor, or above if there is more room, inside the window. */
function place(pop: HTMLElement, anchor: Element, align: "start" | "end"): void {
  const box = anchor.getBoundingClientRect();
  const below = innerHeight - box.bottom;
  const under = below > 260 || below > box.top;
  const width = document.documentElement.clientWidth;
  const left = Math.min(box.left, width - pop.offsetWidth - 8);
  const right = Math.min(width - box.right, width - pop.offsetWidth - 8);
  Object.assign(pop.style, {
    top: under ? `${box.bottom + 6}px` : "auto",
    bottom: under ? "auto" : `${innerHeight - box.top + 6}px`,
    left: align === "start" ? `${Math.max(8, left)}px` : "auto",
    right: align === "end" ? `${Math.max(8, right)}px` : "auto",
    maxHeight: `${Math.max(120, (under ? below : box.top) - 18)}px`,
  });
}
