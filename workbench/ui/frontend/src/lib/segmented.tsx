// Segmented control: a radio group for a few choices.

import type { TargetedKeyboardEvent } from "preact";

export interface Choice {
  id: string;
  label: string;
  /** Reason why the choice cannot be selected; empty if it can. */
  disabled?: string;
}

interface Props {
  label: string;
  choices: readonly Choice[];
  chosen: string;
  choose: (id: string) => void;
}

export function Segmented({ label, choices, chosen, choose }: Props) {
  const pick = (button: HTMLElement): void => {
    if (button.getAttribute("aria-disabled") !== "true") choose(button.dataset["id"] ?? "");
  };
  const move = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>("button")];
    const at = buttons.findIndex((button) => button.matches(":focus"));
    const next = buttons.at((at + by) % buttons.length);
    next?.focus();
    if (next) pick(next);
  };
  return (
    <div class="wb-seg" role="radiogroup" aria-label={label} onKeyDown={move}>
      {choices.map(({ id, label: words, disabled }) => (
        <button
          key={id}
          type="button"
          role="radio"
          data-id={id}
          aria-checked={id === chosen}
          aria-disabled={disabled ? true : undefined}
          aria-description={disabled || undefined}
          data-tip={disabled || undefined}
          tabIndex={id === chosen ? 0 : -1}
          onClick={(event) => pick(event.currentTarget)}
        >
          {words}
        </button>
      ))}
    </div>
  );
}
