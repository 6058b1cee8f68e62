// How often the bodies of a block run.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { TextField } from "../lib/fields";
import { asField, SHARE, SliderField } from "../lib/numberInputs";
import type { Link } from "../lib/link";
import type { InteractionGuard } from "./interactionGuard";

interface Props {
  link: Link<"inspector">;
  guard: InteractionGuard;
  block: string;
}

/** Of an `if` that a coin flip decides. */
export function Probability({ link, guard, block, probability }: Props & { probability: number }) {
  return (
    <Held guard={guard}>
      <span>probability</span>
      <SliderField
        name={`probability of ${block}`}
        limits={SHARE}
        at={probability}
        value={asField(probability)}
        send={(value, from) => {
          const group = guard.group(from);
          link.ask("set_probability", { block, probability: value, group }, true);
        }}
      />
    </Held>
  );
}

/** Of a block with one body of several: any numbers, in whose proportion its bodies run. */
export function Weights({ link, guard, block, weights }: Props & { weights: readonly number[] }) {
  const text = weights.map(asField).join(", ");
  return (
    <Held guard={guard}>
      <span>weights</span>
      <TextField
        name={`weights of ${block}`}
        data-wb="weights"
        data-tip="One number for each body, such as 3, 2, 1: they are scaled to 100 %"
        value={text}
        take={(typed) => {
          if (typed === text) return; // put back after a refusal
          const words = typed.split(/[,:;\s]+/).filter(Boolean);
          const numbers = words.map((word) => (Number.isFinite(Number(word)) ? Number(word) : word));
          link.ask("set_weights", { block, weights: numbers }, true);
        }}
      />
    </Held>
  );
}

/** While it is held, what Python says waits until the hand has let go. */
export function Held({ guard, children }: { guard: InteractionGuard; children: ComponentChildren }) {
  const slot = useRef<HTMLDivElement>(null);
  const shown = useRef<ComponentChildren>(null);
  // Preact leaves a component alone whose element is the one of before, but no plain element.
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
