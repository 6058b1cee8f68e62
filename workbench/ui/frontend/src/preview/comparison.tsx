// Selection of the graph to compare with, and the table of differences.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { readFile } from "../bar/importGraph";
import { FieldHead } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { ComparisonChoice, ComparisonEntry, GraphDifference } from "../payloads";

const FILE = "choose a file";
/** Width in pixels below which the table is collapsed at first. */
const NARROW = 480;
const SIGNS = { added: "+", removed: "−", changed: "~" };
const NONE: ComparisonEntry = {
  name: "",
  error: "",
  rows: [],
  more: 0,
  remarks: [],
  distances: [],
  pending: false,
};

export function Comparison({ link }: { link: Link<"preview"> }) {
  const against = useField(link, "against", "last");
  const choices = useField(link, "comparison_choices", []);
  const found = { ...NONE, ...useField(link, "comparison", {}) };
  const input = useRef<HTMLInputElement>(null);
  const select = useRef<HTMLSelectElement>(null);
  const section = useRef<HTMLElement>(null);
  const narrow = useNarrow(section);
  const [wanted, want] = useState<boolean | null>(null);
  const open = wanted ?? !narrow;
  const folds = found.rows.length + found.remarks.length > 0;
  const choose = (id: string): void => {
    if (id !== FILE) return link.set("against", id);
    select.current!.value = against;
    input.current!.click();
  };
  const openFile = (): void => {
    const file = input.current!.files?.[0];
    if (!file) return;
    const open = (content: { text?: string; data?: string }): void =>
      void link.ask("compare_with_file", { name: file.name, ...content });
    void readFile(file, {
      text: (text) => open({ text }),
      picture: (data) => open({ data }),
      refuse: () => open({ text: "" }),
    }).finally(() => (input.current!.value = ""));
  };
  return (
    <section ref={section} class="wb-comparison" data-wb="comparison" aria-label="Comparison">
      <div class="wb-comparison-head">
        <label>
          <span>left</span>
          <select
            ref={select}
            class="wb-val"
            data-wb="against"
            aria-label="Compare with"
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <Options choices={choices} chosen={against} />
            <option value={FILE}>A graph file …</option>
          </select>
        </label>
        <span>right: current graph</span>
        {folds ? (
          <button
            class="wb-link"
            type="button"
            data-wb="differences"
            aria-expanded={open}
            onClick={() => want(!open)}
          >
            {open ? "▾" : "▸"} {countText(found)}
            {!open && remarkCount(found)}
          </button>
        ) : (
          <b data-wb="differences">{countText(found)}</b>
        )}
        <input
          ref={input}
          type="file"
          accept=".json,.png,.py,.ipynb,application/json,image/png"
          hidden
          aria-label="Graph file or shared picture to compare with"
          data-wb="compare-file"
          onChange={openFile}
        />
      </div>
      {found.error && (
        <p class="wb-comparison-error" role="alert" data-wb="comparison-error">
          <Icon name="warn" size={12} /> {found.error}
        </p>
      )}
      {open && found.rows.length > 0 && <Table {...found} />}
      {open &&
        found.remarks.map((remark) => (
          <p key={remark} class="wb-comparison-remark">
            {remark}
          </p>
        ))}
    </section>
  );
}

function useNarrow(section: { current: HTMLElement | null }): boolean {
  const [narrow, set] = useState(false);
  useLayoutEffect(() => {
    const el = section.current!;
    const measure = (): void => {
      if (el.clientWidth) set(el.clientWidth < NARROW);
    };
    measure();
    const resized = new ResizeObserver(measure);
    resized.observe(el);
    return () => resized.disconnect();
  }, []);
  return narrow;
}

interface OptionsProps {
  choices: ComparisonChoice[];
  chosen: string;
}

/** Options with their own selected state, because the selection may arrive before the options. */
function Options({ choices, chosen }: OptionsProps) {
  const groups = [...new Set(choices.map(({ group }) => group))];
  const options = (group: string) =>
    choices
      .filter((each) => each.group === group)
      .map(({ id, label }) => (
        <option key={id} value={id} selected={id === chosen}>
          {label}
        </option>
      ));
  return (
    <>
      {groups.map((group) =>
        group ? (
          <optgroup key={group} label={group}>
            {options(group)}
          </optgroup>
        ) : (
          options(group)
        ),
      )}
    </>
  );
}

function Table({ rows, more }: ComparisonEntry) {
  return (
    <div class="wb-comparison-rows" tabIndex={0} role="region" aria-label="Differences">
      <table>
        <FieldHead words={["Node", "Setting", "Left", "Right"]} />
        <tbody>
          {rows.map((row) => (
            <Row key={`${row.node} ${row.what} ${row.change}`} {...row} />
          ))}
        </tbody>
      </table>
      {more > 0 && <p>and {more} more</p>}
    </div>
  );
}

function Row({ change, node, what, before, after }: GraphDifference) {
  const whole = what === "";
  const value = (text: string): string => text || (change === "changed" ? "default" : "—");
  return (
    <tr data-change={change}>
      <th scope="row">
        <i aria-hidden="true">{SIGNS[change]}</i> {node || "graph"}
      </th>
      <td>{whole ? change : what}</td>
      <td title={before}>{value(before)}</td>
      <td title={after}>{value(after)}</td>
    </tr>
  );
}

function remarkCount({ remarks }: ComparisonEntry): string {
  const count = remarks.length;
  return count ? `, ${count === 1 ? "1 remark" : `${count} remarks`}` : "";
}

function countText({ rows, more, error, pending }: ComparisonEntry): string {
  const count = rows.length + more;
  const words = count === 1 ? "1 difference" : `${count || "no"} differences`;
  return error && !count ? "" : pending ? `${words} · computing` : words;
}
