// Search for the best settings: the tuner or every setting, as heat maps; a button applies the
// best.

import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Components, HeatCell, HeatPanel, TuneView } from "../payloads";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Segmented } from "../lib/segmented";
import { Head, StartButton, TimeLimit, Unmeasured, type Speed } from "./controls";
import { Notes, PartialMark } from "./notes";
import { isStale, Provenance, QualityFlags } from "./provenance";

type TuneRequest = Components["speed"]["actions"]["tune"];
type Field = Exclude<keyof TuneRequest, "search" | "seconds">;

const FIELDS: { id: Field; label: string }[] = [
  { id: "threads", label: "threads" },
  { id: "batches", label: "batch sizes" },
  { id: "prefetch", label: "prefetch" },
  { id: "loads", label: "hw_decoder_load" },
  { id: "pipelines", label: "pipelines" },
  { id: "files", label: "files, mapped or read" },
  { id: "memory", label: "maximum host memory, GiB" },
];
const SEARCHES = [
  { id: "tuner", label: "Guided search" },
  { id: "all", label: "All settings" },
];

export function Tune({ link }: { link: Speed }) {
  const view = useField(link, "tune", {}) as Partial<TuneView>;
  const usual = useField(link, "limits", {}).grid ?? {};
  const [search, choose] = useState("tuner");
  const [limit, setLimit] = useState(0);
  const seconds = search === "tuner" ? limit : 0;
  const values = useRef<HTMLDetailsElement>(null);
  const known = !!view.on?.length;
  return (
    <>
      <Head line="Finds the fastest threads, pipelines, batch size and prefetch for the whole pipeline; on a GPU also hw_decoder_load, executor and dont_use_mmap.">
        <Segmented label="Search method" choices={SEARCHES} chosen={search} choose={choose} />
        {search === "tuner" && <TimeLimit limit={limit} choose={setLimit} />}
        <StartButton
          link={link}
          words="Tune"
          what={search}
          limit={seconds}
          run={() => link.ask("tune", { search, seconds, ...fieldTexts(values.current!) })}
        />
      </Head>
      <Values list={values} usual={usual} />
      <div
        data-wb="figure"
        data-running={view.running || undefined}
        data-stale={isStale(view.on)}
        hidden={!known}
      >
        {known && <Figure view={view as TuneView} link={link} />}
      </div>
      <Unmeasured link={link} part="tune" hidden={known}>
        No settings measured yet. Guided search takes at most a fifth of the time for all settings, measures the best again,
        alternating with the current ones, and tries all settings if there are eight or fewer.
      </Unmeasured>
    </>
  );
}

interface ValuesProps {
  list: RefObject<HTMLDetailsElement | null>;
  usual: Record<string, string>;
}

/** Fields for the values to try; empty fields show and use the defaults. */
function Values({ list, usual }: ValuesProps) {
  return (
    <details class="wb-fold wb-speed-fold wb-speed-try" ref={list}>
      <summary data-wb="values">Values to try</summary>
      <div>
        {FIELDS.map(({ id, label }) => (
          <label key={id}>
            {label}
            <input
              class="wb-val"
              type="text"
              spellcheck={false}
              autocomplete="off"
              aria-label={id === "memory" ? label : `Values of ${label} to try`}
              data-wb={`try-${id}`}
              placeholder={id === "memory" ? "80 %" : usual[id] || "unchanged"}
            />
          </label>
        ))}
      </div>
    </details>
  );
}

function fieldTexts(list: HTMLElement): Record<Field, string> {
  const inputs = [...list.querySelectorAll("input")];
  return Object.fromEntries(
    FIELDS.map(({ id }, at) => [id, inputs[at]?.value.trim() ?? ""]),
  ) as Record<Field, string>;
}

function Figure({ view, link }: { view: TuneView; link: Speed }) {
  const { best, running, adopted, on } = view;
  const adopt = (): void => {
    if (on[0]) link.ask("adopt", { record: on[0].id });
  };
  return (
    <>
      <PartialMark all={on} />
      <div class="wb-speed-won">
        <div>
          <p class="wb-speed-best" data-wb="best">
            {best ? (
              <>
                {running ? "Best so far: " : "Best: "}
                <b>{best}</b>
                {`, ${view.figure}`}
                <small>{view.interval}</small>
              </>
            ) : running ? (
              "Measuring the first setting."
            ) : (
              "No setting could be measured."
            )}
          </p>
          <p class="wb-muted">{[view.gain, view.tried].filter(Boolean).join(" · ")}</p>
        </div>
        <button
          class="wb-btn"
          type="button"
          data-wb="adopt"
          hidden={!best || adopted || running}
          onClick={adopt}
        >
          Use these settings
        </button>
        <span class="wb-speed-used" data-wb="adopted" hidden={!best || !adopted || running}>
          <Icon name="check" size={14} />
          Applied to the graph
        </span>
      </div>
      <QualityFlags all={on} />
      <div class="wb-heats" data-wb="heat">
        {view.panels.map((panel) => (
          <HeatMap key={panel.title} panel={panel} most={view.most} />
        ))}
      </div>
      <Notes words={view.notes} />
      <Provenance all={on} flagged={false} />
    </>
  );
}

interface HeatProps {
  panel: HeatPanel;
  most: number;
}

function HeatMap({ panel, most }: HeatProps) {
  const { title, threads, batches, cells } = panel;
  return (
    <table class="wb-heat">
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">threads \ batch</th>
          {batches.map((batch) => (
            <th key={batch} scope="col">
              {batch}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {threads.map((count) => (
          <tr key={count}>
            <th scope="row">{count}</th>
            {batches.map((batch) => (
              <Cell
                key={batch}
                cell={cells.find((cell) => cell.threads === count && cell.batch === batch)}
                most={most}
              />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface CellProps {
  cell: HeatCell | undefined;
  most: number;
}

function Cell({ cell, most }: CellProps) {
  if (!cell) return <td />;
  const { rate, figure, reason, now, best, own } = cell;
  const failed = rate === null && reason !== "not tried";
  const words = rate !== null ? figure : failed ? "failed" : now ? "…" : "·";
  const share = rate === null ? 0 : Math.round(100 * (rate / (most || 1)) ** 2);
  return (
    <td
      data-best={best || undefined}
      data-own={own || undefined}
      data-now={now || undefined}
      data-failed={failed || undefined}
      data-rate={rate ?? undefined}
      data-tip={rate === null ? reason : undefined}
      tabIndex={failed ? 0 : undefined}
      style={rate === null ? {} : { "--share": `${share}%` }}
    >
      {words}
      {rate === null && !failed && (
        <span class="wb-hidden">{now ? "being measured" : "not tried"}</span>
      )}
      {best && <small>best</small>}
      {own && <small>current</small>}
    </td>
  );
}
