// Controls of the speed panel: open part, settings, progress.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { WordButton } from "../lib/button";
import { Select } from "../lib/fields";
import { focusedElement } from "../lib/focus";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { numberIn } from "../lib/number";
import { OpenButton } from "../lib/openFile";
import { Segmented } from "../lib/segmented";
import type { Components } from "../payloads";

type Fields = Components["speed"]["fields"];
export type Part = Fields["part"];
export type Speed = Link<"speed">;

const PARTS: { id: Part; label: string }[] = [
  { id: "compare", label: "Compare" },
  { id: "stages", label: "Where the time goes" },
  { id: "rewrites", label: "Rewrites" },
  { id: "tune", label: "Tune" },
  { id: "scaling", label: "Scaling" },
  { id: "peers", label: "Libraries" },
  { id: "memory", label: "Memory" },
  { id: "records", label: "Records" },
];

export function Controls({ link }: { link: Speed }) {
  const part = useField(link, "part", "compare");
  return (
    <>
      <div class="wb-controls">
        <Segmented
          label="Measurement type"
          choices={PARTS}
          chosen={part}
          choose={(id) => link.set("part", id as Part)}
        />
        <span class="wb-grow" />
        <span class="wb-speed-settings" hidden={part === "records"}>
          <label class="wb-control">
            batch size
            <Setting link={link} name="batch_size" label="Batch size" usual={64} />
          </label>
          <label class="wb-control">
            threads
            <Setting link={link} name="threads" label="Threads" usual={4} />
          </label>
          <label class="wb-control" title="Number of pipelines in one process, each with its own threads">
            pipelines
            <Setting link={link} name="pipelines" label="Pipelines" usual={1} />
          </label>
        </span>
      </div>
    </>
  );
}

interface SettingProps {
  link: Speed;
  name: "batch_size" | "threads" | "pipelines";
  label: string;
  usual: number;
}

function Setting({ link, name, label, usual }: SettingProps) {
  const value = useField(link, name, usual);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const el = input.current!;
    if (focusedElement(el) !== el || !el.value) el.value = String(value);
  }, [value]);
  return (
    <input
      ref={input}
      class="wb-val"
      type="number"
      min={1}
      step={1}
      aria-label={label}
      data-wb={name}
      onChange={({ currentTarget: el }) => {
        const typed = numberIn(el);
        const whole = typed !== null && typed >= 1 ? Math.floor(typed) : null;
        if (whole !== null) link.set(name, whole);
        el.value = String(whole ?? value);
      }}
    />
  );
}

/** Progress of the running measurement, wherever it was started; otherwise the last message. */
export function Progress({ link }: { link: Speed }) {
  const running = useField(link, "running", false);
  const words = useField(link, "message", "");
  const failed = useField(link, "failed", false);
  const what = useField(link, "what", "");
  const share = useField(link, "progress", 0);
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  const of = PARTS.find(({ id }) => id === what);
  return (
    <div
      class="wb-notice wb-speed-run"
      data-wb="run"
      data-kind={failed ? "warning" : undefined}
      hidden={!running && !words}
    >
      {failed && <Icon name="warn" size={14} />}
      <b hidden={!running}>{running && of?.label}</b>
      <div
        class="wb-progress"
        role="progressbar"
        aria-label="Measurement"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={running ? `${percent} %: ${words}` : undefined}
        hidden={!running}
      >
        <i style={{ width: `${percent}%` }} />
      </div>
      <span class="wb-speed-message" data-wb="message">
        {running ? `${percent} % · ${words}` : words}
      </span>
      <WordButton
        label="Cancel"
        name="cancel"
        hidden={!running}
        onClick={() => link.ask("cancel", {})}
      />
      {/* Announced once at the end, not for every round. */}
      <span class="wb-hidden" role="status">
        {!running && words}
      </span>
    </div>
  );
}

interface StartProps {
  link: Speed;
  words: string;
  run: () => void;
  /** Reason why the measurement cannot be started. */
  impossible?: string;
  /** Key of the time estimate. */
  what?: string;
  /** Time limit in seconds; 0 for none. */
  limit?: number;
}

/** Button that starts a run; disabled during a run. */
export function StartButton({ link, words, run, impossible = "", what = "", limit = 0 }: StartProps) {
  const running = useField(link, "running", false);
  const effort = useField(link, "effort", "usual");
  const usual = useField(link, "limits", {}).estimates?.[effort]?.[what];
  const estimate = limit ? `at most ${limit / 60} min` : usual;
  return (
    <span class="wb-speed-start">
      <button
        class="wb-btn"
        type="button"
        data-wb="measure"
        data-tip={impossible || undefined}
        disabled={running || impossible !== ""}
        onClick={run}
      >
        {words}
      </button>
      {estimate && !impossible && (
        <small class="wb-muted" data-wb="estimate">
          {estimate}
        </small>
      )}
    </span>
  );
}

/** Time limits in minutes. */
const LIMITS = [0, 1, 2, 5, 10, 30];

interface LimitProps {
  /** Time limit in seconds; 0 for none. */
  limit: number;
  choose: (seconds: number) => void;
}

export function TimeLimit({ limit, choose }: LimitProps) {
  return (
    <Select
      class="wb-val wb-speed-limit"
      name="Time limit"
      data-wb="time-limit"
      options={LIMITS.map((minutes) => {
        return [String(60 * minutes), minutes ? `at most ${minutes} min` : "no time limit"] as const;
      })}
      value={String(limit)}
      choose={(seconds) => choose(Number(seconds))}
    />
  );
}

/** Description of a part without results, or a note that a measurement is running. */
export function Unmeasured(props: { link: Speed; part: Part; hidden: boolean; children: ComponentChildren }) {
  const { link, part, hidden, children } = props;
  const running = useField(link, "running", false);
  const what = useField(link, "what", "");
  return (
    <p class="wb-empty" data-wb="unmeasured" hidden={hidden}>
      {running && what === part ? "Measuring. The first results will appear here." : children}
    </p>
  );
}

/** Choice of the precision: a quick measurement, or the rounds of METHOD.md. */
export function Effort({ link, usual = "Precise" }: { link: Speed; usual?: string }) {
  return (
    <Segmented
      label="Precision"
      choices={[
        { id: "usual", label: usual },
        { id: "quick", label: "Quick look" },
      ]}
      chosen={useField(link, "effort", "usual")}
      choose={(id) => link.set("effort", id as Fields["effort"])}
    />
  );
}

/** Button that opens the record of another machine. */
export function OpenRecord({ link }: { link: Speed }) {
  return (
    <OpenButton
      what="record"
      tip="A record is the file that `workbench bench --json` writes."
      open={(file) => link.ask("open", file)}
    />
  );
}

/** Header of a figure: description, button, and precision. */
export function Head({ line, children }: { line: string; children: ComponentChildren }) {
  return (
    <div class="wb-speed-head">
      <p class="wb-speed-lead">{line}</p>
      {children}
    </div>
  );
}
