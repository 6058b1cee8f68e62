// State of the worker; a click lists all faults of the graph.

import { useLayoutEffect, useState } from "preact/hooks";
import type { FaultEntry, Status } from "../payloads";
import { FaultList } from "../lib/faultList";

interface Props {
  status: Partial<Status>;
  faults: FaultEntry[];
  select: (node: string) => void;
  fix: (fault: FaultEntry, fix: string) => void;
}

/** Seconds of waiting after which the waiting time is displayed. */
const COUNTED_FROM = 3;

export function Faults({ status, faults, select, fix }: Props) {
  const { state = "busy" } = status;
  const said = status.text || "starting";
  const seconds = useSeconds(state === "busy", said);
  const stops = faults.some(({ warning }) => !warning);
  const found = stops ? "fault" : faults.length ? "warning" : "ready";
  const look = {
    class: "wb-bar-status",
    "data-wb": "status",
    "data-state": state === "ready" ? found : state,
  };
  const children = [
    <i key="dot" aria-hidden="true" />,
    <span key="words">{seconds < COUNTED_FROM ? said : `${said} · ${seconds} s`}</span>,
  ];
  if (!faults.length) return <span {...look}>{children}</span>;
  const label = `${said}, show the ${stops ? "faults" : "warnings"}`;
  const button = { ...look, "aria-label": label, children };
  return <FaultList align="end" {...{ button, faults, select, fix }} />;
}

/** Return the whole seconds since the current wait started. */
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
