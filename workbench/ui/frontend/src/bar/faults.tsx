// The chip that says how the worker is; behind it, all that is wrong with the graph.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FaultEntry, Status } from "../views";
import { Icon } from "../lib/icons";
import { Menu, Popover } from "../lib/popover";

interface Props {
  status: Partial<Status>;
  faults: FaultEntry[];
  select: (node: string) => void;
  fix: (fault: FaultEntry, fix: string) => void;
}

/** Seconds of waiting from which on the chip counts them. */
const COUNTED_FROM = 3;

export function Faults({ status, faults, select, fix }: Props) {
  const { state = "busy" } = status;
  const said = status.text || "starting";
  const seconds = useSeconds(state === "busy", said);
  const stops = faults.some(({ warning }) => !warning);
  const found = stops ? "fault" : faults.length ? "warning" : "ready";
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
  const chip = {
    class: "wb-chip wb-bar-status",
    "data-wb": "status",
    "data-state": state === "ready" ? found : state,
    disabled: !faults.length,
    "aria-label": faults.length ? `${said}, show the ${stops ? "faults" : "warnings"}` : undefined,
    children: [
      <i aria-hidden="true" />,
      <span>{seconds < COUNTED_FROM ? said : `${said} · ${seconds} s`}</span>,
    ],
  };
  return (
    <Popover handle={pop} label="Faults" align="end" button={chip}>
      <Menu class="wb-bar-faults">
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
                {fault.warning && " (feeds no output, so it stops nothing)"}
              </span>
              {fault.remedy && <small>{fault.remedy}</small>}
            </button>
            {fault.fixes.length > 0 && (
              <div class="wb-bar-fixes">
                {fault.fixes.map((label) => (
                  <button
                    key={label}
                    class="wb-quiet"
                    type="button"
                    data-wb="fix"
                    onClick={() => fix(fault, label)}
                  >
                    {label}
                  </button>
                ))}
              </div>
            )}
          </div>
        ))}
      </Menu>
    </Popover>
  );
}

/** Whole seconds since the same thing is waited for. */
function useSeconds(waiting: boolean, what: string): number {
  const [seconds, set] = useState(0);
  useLayoutEffect(() => {
    set(0);
    if (!waiting) return;
    const since = Date.now();
    const clock = window.setInterval(() => set(Math.round((Date.now() - since) / 1000)), 1000);
    return () => window.clearInterval(clock);
  }, [waiting, what]);
  return seconds;
}
