// One of a few, side by side: a radio group that looks like a switch.

import { attr, h, Keyed, text } from "./dom";

export interface Choice {
  id: string;
  label: string;
  /** Why it cannot be chosen; empty where it can. */
  disabled?: string;
}

export interface Segmented {
  el: HTMLElement;
  draw(choices: readonly Choice[], chosen: string): void;
}

export function segmented(label: string, choose: (id: string) => void): Segmented {
  const el = h("div", { class: "wb-seg", role: "radiogroup", "aria-label": label });

  const pick = (button: HTMLElement): void => {
    if (button.getAttribute("aria-disabled") !== "true") choose(button.dataset["id"] ?? "");
  };
  el.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = [...el.querySelectorAll<HTMLElement>("button")];
    const at = buttons.findIndex((button) => button.matches(":focus"));
    const next = buttons.at((at + by) % buttons.length);
    next?.focus();
    if (next) pick(next);
  });

  const buttons = new Keyed<Choice & { chosen: boolean }>(
    el,
    (choice) => choice.id,
    (choice) => {
      const button = h("button", { type: "button", role: "radio", "data-id": choice.id });
      button.addEventListener("click", () => pick(button));
      return button;
    },
    (button, choice) => {
      text(button, choice.label);
      attr(button, "aria-checked", String(choice.chosen));
      attr(button, "aria-disabled", choice.disabled ? "true" : null);
      attr(button, "aria-description", choice.disabled || null);
      attr(button, "data-tip", choice.disabled || null);
      attr(button, "tabindex", choice.chosen ? 0 : -1);
    },
  );
  return {
    el,
    draw: (choices, chosen) =>
      buttons.draw(choices.map((choice) => ({ ...choice, chosen: choice.id === chosen }))),
  };
}
