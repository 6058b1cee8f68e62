// Tooltips on hover and focus for elements with `data-tip`; a first line followed by a blank line
// is a heading.

import { useLayoutEffect, useRef } from "preact/hooks";

const DELAY = 350;
/** Delay in milliseconds for cards, which the pointer often only crosses. */
const CARD_DELAY = 800;

export function Tips({ root }: { root: HTMLElement }) {
  const tip = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => followPointer(root, tip.current!), [root]);
  return <div class="wb-tip" popover="manual" role="tooltip" ref={tip} />;
}

function followPointer(root: HTMLElement, tip: HTMLElement): () => void {
  let timer = 0;
  let shown: HTMLElement | null = null;

  // The element may change or disappear while its tooltip is open.
  const follow = new MutationObserver(() => {
    if (!shown) return;
    const there = shown.isConnected && shown.matches(":hover, :focus-visible");
    if (!there || !shown.dataset["tip"]) hide();
    else if (shown.dataset["tip"] !== words) say(shown.dataset["tip"]);
  });
  let words = "";
  const say = (text: string): void => {
    words = text;
    const [head, rest] = splitHead(text);
    const bold = document.createElement("b");
    bold.textContent = head;
    tip.replaceChildren(...(head ? [bold] : []), rest);
  };

  const hide = (): void => {
    clearTimeout(timer);
    shown = null;
    follow.disconnect();
    if (tip.matches(":popover-open")) tip.hidePopover();
    tip.replaceChildren();
  };
  const open = (el: HTMLElement): void => {
    const text = el.dataset["tip"];
    if (!text || !el.isConnected || !tip.isConnected) return;
    shown = el;
    say(text);
    tip.showPopover();
    follow.observe(root, { subtree: true, childList: true, attributeFilter: ["data-tip"] });
    const box = el.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const end = document.documentElement.clientWidth - own.width - 8;
    if (isCard(el) && (box.right + 8 <= end || box.left - own.width - 16 >= 0)) {
      const beside = box.right + 8 <= end ? box.right + 8 : box.left - own.width - 8;
      tip.style.left = `${beside}px`; // chains run downwards, so their cards are above and below
      tip.style.top = `${Math.max(8, Math.min(box.top, innerHeight - own.height - 8))}px`;
      return;
    }
    const left = Math.min(box.left, end);
    const under = box.bottom + 6 + own.height < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${under ? box.bottom + 6 : Math.max(8, box.top - own.height - 6)}px`;
  };
  const target = (event: Event): HTMLElement | null =>
    (event.target as Element).closest<HTMLElement>("[data-tip]");

  root.addEventListener("pointerover", (event) => {
    const el = target(event);
    if (el === shown) return;
    hide();
    if (el) timer = window.setTimeout(() => open(el), isCard(el) ? CARD_DELAY : DELAY);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointerdown", hide);
  root.addEventListener("focusin", (event) => {
    const el = target(event);
    if (el && (event.target as Element).matches(":focus-visible")) {
      hide();
      timer = window.setTimeout(() => open(el), isCard(el) ? CARD_DELAY : DELAY);
    }
  });
  root.addEventListener("focusout", hide);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  window.addEventListener("scroll", hide, true);
  return () => {
    window.removeEventListener("scroll", hide, true);
    follow.disconnect();
  };
}

function isCard(el: HTMLElement): boolean {
  return el.dataset["wb"] === "node";
}

function splitHead(words: string): [string, string] {
  const at = words.indexOf("\n\n");
  return at < 0 ? ["", words] : [words.slice(0, at), words.slice(at + 2)];
}
