// Text on hover and focus for whatever has `data-tip`; a first line before a blank one is a head.

import { h } from "./dom";

const DELAY = 350;

export function tips(root: HTMLElement): () => void {
  const tip = h("div", { class: "wb-tip", popover: "manual", role: "tooltip" });
  root.append(tip);
  let timer = 0;
  let shown: HTMLElement | null = null;

  // What is pointed at may change or go while its tip is open: another recipe, a change of values.
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
    tip.replaceChildren(...(head ? [h("b", {}, head)] : []), rest);
  };

  const hide = (): void => {
    clearTimeout(timer);
    shown = null;
    follow.disconnect();
    if (tip.matches(":popover-open")) tip.hidePopover();
  };
  const open = (el: HTMLElement): void => {
    const text = el.dataset["tip"];
    if (!text || !el.isConnected) return;
    shown = el;
    say(text);
    tip.showPopover();
    follow.observe(root, { subtree: true, childList: true, attributeFilter: ["data-tip"] });
    const box = el.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = Math.min(box.left, document.documentElement.clientWidth - own.width - 8);
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
    if (el) timer = window.setTimeout(() => open(el), DELAY);
  });
  root.addEventListener("pointerleave", hide);
  root.addEventListener("pointerdown", hide);
  root.addEventListener("focusin", (event) => {
    const el = target(event);
    if (el && (event.target as Element).matches(":focus-visible")) {
      hide();
      timer = window.setTimeout(() => open(el), DELAY);
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

function splitHead(words: string): [string, string] {
  const at = words.indexOf("\n\n");
  return at < 0 ? ["", words] : [words.slice(0, at), words.slice(at + 2)];
}
