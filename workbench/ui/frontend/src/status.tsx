// The line below the panes: faults, the last measured speed of this very graph, what is kept.

import { useLayoutEffect } from "preact/hooks";
import { component, type PanelProps } from "./lib/component";
import { useField, useOffline, useRedraw } from "./lib/hooks";
import { Icon } from "./lib/icons";
import { undoKey } from "./lib/keyboard";
import type { Link } from "./lib/link";
import { rateFigure, rateUnit } from "./lib/number";
import css from "./styles/status.css";
import type { LastSpeed } from "./views";

const DEVICES = { mixed: "mixed", cpu: "CPU" };
/** Milliseconds between two looks at how long ago it was. */
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
      <Kept link={link} away={away} />
    </div>
  );
}

interface Props {
  link: Link<"status">;
  away: boolean;
}

function Faults({ link, away }: Props) {
  const { faults = 0, warnings = 0, first = "", message = "" } = useField(link, "faults", {});
  const words =
    [counted(faults, "fault"), counted(warnings, "warning")].filter(Boolean).join(", ") ||
    "no faults";
  const kind = faults ? "fault" : warnings ? "warning" : "none";
  const icon = <Icon name={kind === "none" ? "check" : "warn"} size={13} />;
  if (kind === "none")
    return (
      <span class="wb-status-faults" data-wb="status-faults" data-kind={kind}>
        {icon}
        {words}
      </span>
    );
  return (
    <button
      type="button"
      class="wb-status-faults"
      data-wb="status-faults"
      data-kind={kind}
      data-tip={message}
      disabled={away || !first}
      onClick={() => link.ask("select", { node: first })}
    >
      {icon}
      {words}
    </button>
  );
}

function counted(count: number, what: string): string {
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

function Speed({ device, rate, frames, when, settings, unstable }: LastSpeed) {
  return (
    <span class="wb-status-speed" data-device={device} data-unstable={unstable || undefined}>
      {`${DEVICES[device]} `}
      <b>{rateFigure(rate, frames)}</b>
      {` ${rateUnit(frames)}${unstable ? ", unstable" : ""}`}
      <small>{[ago(when), settings].filter(Boolean).join(" · ")}</small>
    </span>
  );
}

/** `2 min ago`; empty where it is not recorded. */
function ago(when: string): string {
  const minutes = Math.floor((Date.now() - Date.parse(when)) / MINUTE);
  if (Number.isNaN(minutes)) return "";
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} days ago`;
}

function Kept({ link, away }: Props) {
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
