// List of records: show, rename, compare, export.

import { useLayoutEffect, useRef } from "preact/hooks";
import type { ComparisonView, RecordEntry } from "../payloads";
import { IconButton, WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Head, OpenRecord, type Speed } from "./controls";
import { Provenance } from "./provenance";
import { Table, Wide } from "./table";

const HEADS = ["", "record", "measurement", "machine", "best rate", ""];
const FILES = ["json", "csv", "png", "svg"];
const TICKED = ["Select two to compare them.", "Select one more to compare them.", "2 selected"];

export function Records({ link }: { link: Speed }) {
  const records = useField(link, "records", []);
  const chosen = useField(link, "selected_records", []);
  const choose = (id: string, on: boolean): void => {
    const others = chosen.filter((key) => key !== id);
    link.set("selected_records", on ? [...others, id].slice(-2) : others);
  };
  return (
    <>
      <Head line="Earlier runs on this machine and others.">
        <span class="wb-muted">{records.length > 1 && TICKED[chosen.length]}</span>
        <WordButton
          label="Export CSV"
          name="export-csv"
          icon="download"
          disabled={!records.length}
          onClick={() => link.ask("export", { kind: "csv", ids: chosen })}
        />
        <OpenRecord link={link} />
      </Head>
      <Wide label="Records" hidden={!records.length}>
        <table class="wb-speed-table wb-records">
          <caption class="wb-hidden">Records</caption>
          <thead>
            <tr>
              {HEADS.map((words, at) =>
                words ? (
                  <th key={at} scope="col">
                    {words}
                  </th>
                ) : (
                  <td key={at}>
                    <span class="wb-hidden">{at ? "actions" : "compare"}</span>
                  </td>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {records.map((entry) => (
              <Row
                key={entry.id}
                link={link}
                entry={entry}
                chosen={chosen.includes(entry.id)}
                choose={(on) => choose(entry.id, on)}
              />
            ))}
          </tbody>
        </table>
      </Wide>
      <p class="wb-empty" hidden={records.length > 0}>
        No records yet. Every run is stored here; records of other machines can be opened or dropped.
      </p>
      <Comparison view={useField(link, "comparison", {})} />
    </>
  );
}

interface RowProps {
  link: Speed;
  entry: RecordEntry;
  chosen: boolean;
  choose: (on: boolean) => void;
}

function Row({ link, entry, chosen, choose }: RowProps) {
  const { id, name, graph, when } = entry;
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (!field.current!.matches(":focus")) field.current!.value = name;
  }, [entry]);
  const own = name !== [graph, when].filter(Boolean).join(", ");
  return (
    <tr data-wb="record" data-id={id}>
      <td>
        <input
          type="checkbox"
          data-wb="choose"
          aria-label={`Select ${name} for comparison`}
          checked={chosen}
          onChange={(event) => choose(event.currentTarget.checked)}
        />
      </td>
      <th scope="row">
        <input
          ref={field}
          class="wb-val wb-record-name"
          type="text"
          spellcheck={false}
          data-wb="record-name"
          aria-label={`Name of ${name}`}
          onChange={({ currentTarget: el }) => link.ask("rename", { record: id, to: el.value.trim() })}
        />
        <small>{own && [graph, when].filter(Boolean).join(" · ")}</small>
      </th>
      <td>
        {entry.kind}
        {entry.shown && <em>shown</em>}
      </td>
      <td>
        {entry.machine}
        {entry.elsewhere && <em>other machine</em>}
      </td>
      <td>{entry.best || "nothing measured"}</td>
      <td>
        <span class="wb-record-files">
          <WordButton
            label="Show"
            name="view"
            aria-label={`Show ${name}`}
            onClick={() => link.ask("view", { record: id })}
          />
          {FILES.map((kind) => (
            <button
              key={kind}
              class="wb-link"
              type="button"
              data-wb={`export-${kind}`}
              aria-label={`${name} as ${kind.toUpperCase()}`}
              onClick={() => link.ask("export", { kind, ids: [id] })}
            >
              {kind.toUpperCase()}
            </button>
          ))}
          <IconButton
            label="Remove"
            name="drop"
            aria-label={`Remove ${name}`}
            onClick={() => link.ask("delete", { record: id })}
          >
            <Icon name="close" size={13} />
          </IconButton>
        </span>
      </td>
    </tr>
  );
}

/** Comparison of the two selected records, as ratios of the second to the first. */
function Comparison({ view }: { view: Partial<ComparisonView> }) {
  const { first, second, pairs = [], warnings = [], only = [] } = view;
  if (!first || !second) {
    return <section class="wb-speed-comparison" data-wb="comparison" hidden />;
  }
  const lines = pairs.map((pair) => [
    pair.name,
    pair.first,
    pair.second,
    pair.ratio,
    pair.verdict,
    pair.differs.join(", "),
  ]);
  const heads = ["configuration", first.name, second.name, "ratio", "verdict", "settings"];
  return (
    <section class="wb-speed-comparison" data-wb="comparison">
      <h3>{`${second.name} over ${first.name}`}</h3>
      {lines.length ? (
        <Wide label="Comparison">
          <Table caption="Comparison" heads={heads} lines={lines} />
        </Wide>
      ) : (
        <p class="wb-speed-fact">The two records have no measured configuration in common.</p>
      )}
      {[...warnings, ...only].map((words) => (
        <p key={words} class="wb-speed-fact">
          {words}
        </p>
      ))}
      <Provenance all={[first, second]} />
    </section>
  );
}
