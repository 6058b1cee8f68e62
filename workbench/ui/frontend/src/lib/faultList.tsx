// List of the graph's faults behind a button, each with its fixes.

import type { ComponentProps } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { FaultEntry } from "../payloads";
import { WordButton } from "./button";
import { Icon } from "./icons";
import { Menu, Popover } from "./popover";

interface Props {
  faults: FaultEntry[];
  align: "start" | "end";
  button: ComponentProps<typeof Popover>["button"];
  select: (node: string) => void;
  fix: (fault: FaultEntry, fix: string) => void;
}

export function FaultList({ faults, align, button, select, fix }: Props) {
  const pop = useRef<HTMLDivElement>(null);
  const held = pop.current?.querySelector(":focus") != null;
  useLayoutEffect(() => {
    const card = pop.current!;
    if (!card.matches(":popover-open")) return;
    if (!faults.length) card.hidePopover();
    else if (held && !card.querySelector(":focus")) card.querySelector("button")?.focus();
  });
  const choose = ({ node }: FaultEntry): void => {
    pop.current!.hidePopover();
    if (node) select(node);
  };
  return (
    <Popover handle={pop} label="Faults" align={align} button={button}>
      <Menu class="wb-faults">
        {faults.map((fault, at) => (
          <div key={`${fault.node} ${fault.arg} ${fault.message}`} role="group" aria-label={fault.message}>
            <button
              type="button"
              autofocus={at === 0}
              data-wb="fault"
              data-node={fault.node}
              data-warning={fault.warning || undefined}
              onClick={() => choose(fault)}
            >
              <Icon name="warn" size={14} />
              <span>
                {fault.message}
                {fault.warning && " (warning: it does not stop a run)"}
              </span>
              {fault.remedy && <small>{fault.remedy}</small>}
            </button>
            {fault.fixes.length > 0 && (
              <div class="wb-fixes">
                {fault.fixes.map((label) => (
                  <WordButton
                    key={label}
                    label={label}
                    name="fix"
                    onClick={() => fix(fault, label)}
                  />
                ))}
              </div>
            )}
          </div>
        ))}
      </Menu>
    </Popover>
  );
}
