// The chip that says how the worker is; behind it, all that is wrong with the graph.

import { useLayoutEffect, useState } from "preact/hooks";
import type { FaultEntry, Status } from "../views";
import { FaultList } from "../lib/faultList";

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
  const chip = {
    class: "wb-bar-status",
    "data-wb": "status",
    "data-state": state === "ready" ? found : state,
    disabled: !faults.length,
    "aria-label": faults.length ? `${said}, show the ${stops ? "faults" : "warnings"}` : undefined,
    children: [
      <i aria-hidden="true" />,
      <span>{seconds < COUNTED_FROM ? said : `${said} · ${seconds} s`}</span>,
    ],
  };
  return <FaultList align="end" button={chip} {...{ faults, select, fix }} />;
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
