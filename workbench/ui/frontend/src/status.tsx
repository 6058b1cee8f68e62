// Status line: faults, last measured speed of the graph, autosave state.

import { useLayoutEffect } from "preact/hooks";
import { component, type PanelProps } from "./lib/component";
import { FaultList } from "./lib/faultList";
import { useField, useOffline, useRedraw } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { undoKey } from "./lib/keyboard";
import type { Link } from "./lib/link";
import css from "./styles/status.css";
import type { LastSpeed } from "./payloads";

const DEVICES = { mixed: "mixed", cpu: "CPU" };
/** Milliseconds between updates of the age of a measurement. */
const MINUTE = 60_000;

function StatusLine({ link, root }: PanelProps<"status">) {
  useLayoutEffect(() => {
    const undo = (event: KeyboardEvent): void =>
      void undoKey(event, (action) => link.ask(action, {}));
    root.addEventListener("keydown", undo);
    return () => root.removeEventListener("keydown", undo);
  }, [link, root]);
  const away = useOffline(link);
  return (
    <div class="wb-status-line" role="group" aria-label="Status">
      <Faults link={link} away={away} />
      <Speeds speeds={useField(link, "speeds", [])} />
      <SavedState link={link} away={away} />
    </div>
  );
}

interface Props {
  link: Link<"status">;
  away: boolean;
}

function Faults({ link, away }: Props) {
  const faults = useField(link, "faults", []);
  const warnings = faults.filter(({ warning }) => warning).length;
  const stopping = faults.length - warnings;
  const words = [countText(stopping, "fault"), countText(warnings, "warning")].filter(Boolean);
  const kind = stopping ? "fault" : warnings ? "warning" : "none";
  const look = { class: "wb-status-faults", "data-wb": "status-faults", "data-kind": kind };
  const said = [
    <Icon key="icon" name={kind === "none" ? "check" : "warn"} size={13} />,
    words.join(", ") || "no faults",
  ];
  if (kind === "none") return <span {...look}>{said}</span>;
  return (
    <FaultList
      faults={faults}
      align="start"
      button={{ ...look, disabled: away, children: said }}
      select={(node) => link.ask("select", { node })}
      fix={({ node, arg }, fix) => link.ask("fix", { node, arg, fix })}
    />
  );
}

function countText(count: number, what: string): string {
  return count ? `${count} ${what}${count === 1 ? "" : "s"}` : "";
}

function Speeds({ speeds }: { speeds: readonly LastSpeed[] }) {
  const redraw = useRedraw();
  useLayoutEffect(() => {
    const clock = window.setInterval(redraw, MINUTE);
    return () => window.clearInterval(clock);
  }, []);
  return (
    <span class="wb-status-speeds" data-wb="status-speeds">
      {speeds.length ? speeds.map((speed) => <Speed key={speed.device} {...speed} />) : "speed not measured"}
    </span>
  );
}

function Speed({ device, figure, when, settings, unstable }: LastSpeed) {
  return (
    <span
      class="wb-status-speed"
      data-device={device}
      data-unstable={unstable || undefined}
      data-tip={[`${DEVICES[device]} ${figure}`, settings].join("\n\n")}
    >
      {`${DEVICES[device]} `}
      <b>{figure}</b>
      {unstable && ", unstable"}
      <small>{[elapsedText(when), settings].filter(Boolean).join(" · ")}</small>
    </span>
  );
}

/** Return a time as `2 min ago`; "" if it was not recorded. */
function elapsedText(when: string): string {
  const minutes = Math.floor((Date.now() - Date.parse(when)) / MINUTE);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}

function SavedState({ link, away }: Props) {
  const { state = "waiting", text = "", reason = "" } = useField(link, "kept", {});
  return (
    <span
      class="wb-status-kept"
      data-wb="status-kept"
      data-state={away ? "offline" : state}
      data-tip={away ? undefined : reason || undefined}
    >
      {away ? "offline" : text}
    </span>
  );
}

export default component("status", css, StatusLine);
