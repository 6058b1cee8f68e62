// Probabilities of the bodies of a block.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { TextField } from "../lib/fields";
import { fieldText, SHARE, SliderField } from "../lib/numberInputs";
import type { Link } from "../lib/link";
import type { InteractionGuard } from "./interactionGuard";

interface Props {
  link: Link<"inspector">;
  guard: InteractionGuard;
  block: string;
}

/** Probability of an `if` with a coin flip. */
export function Probability({ link, guard, block, probability }: Props & { probability: number }) {
  return (
    <DeferUpdates guard={guard}>
      <span>probability</span>
      <SliderField
        name={`probability of ${block}`}
        limits={SHARE}
        at={probability}
        value={fieldText(probability)}
        send={(value, from) => {
          const group = guard.group(from);
          link.ask("set_probability", { block, probability: value, group }, true);
        }}
      />
    </DeferUpdates>
  );
}

/** Weights of a block that runs one of several bodies; they are normalised. */
export function Weights({ link, guard, block, weights }: Props & { weights: readonly number[] }) {
  const text = weights.map(fieldText).join(", ");
  return (
    <DeferUpdates guard={guard}>
      <span>weights</span>
      <TextField
        name={`weights of ${block}`}
        data-wb="weights"
        data-tip="One number per body, such as 3, 2, 1. They are normalised to 100 %."
        value={text}
        take={(typed) => {
          if (typed === text) return; // reset after a refusal
          const words = typed.split(/[,:;\s]+/).filter(Boolean);
          const numbers = words.map((word) => (Number.isFinite(Number(word)) ? Number(word) : word));
          link.ask("set_weights", { block, weights: numbers }, true);
        }}
      />
    </DeferUpdates>
  );
}

/** Renders controls; while a control is in use, values from Python are deferred. */
export function DeferUpdates({ guard, children }: { guard: InteractionGuard; children: ComponentChildren }) {
  const slot = useRef<HTMLDivElement>(null);
  const shown = useRef<ComponentChildren>(null);
  // Preact skips a component with the same element, but not a plain element.
  if (!slot.current || !guard.holds(slot.current)) shown.current = <Controls>{children}</Controls>;
  return (
    <div class="wb-block-chance" ref={slot}>
      {shown.current}
    </div>
  );
}

function Controls({ children }: { children?: ComponentChildren }) {
  return <>{children}</>;
}
