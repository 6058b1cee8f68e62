// Controls for lists of numbers: free lists, named elements, colours, ranges and matrices.

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import type { ArgRow, Json } from "../payloads";
import { Icon } from "../lib/icons";
import { roundedText } from "../lib/number";
import { fieldText, NumberField, PairSlider, typedIn } from "../lib/numberInputs";
import { asText, described, limitsOf, placeholder, type ControlProps } from "./control";
import { Slide } from "./fixedValueControls";

/** Maximum length of a list that is edited in a single-line field. */
const LONG = 8;
/** Number of named elements that need the full width of the row. */
export const MANY = 3;

function asList(value: Json): Json[] {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}

export function isLong(value: Json): boolean {
  return asList(value).length > LONG;
}

/** Field for any number of comma-separated numbers. */
export function Numbers({ row, ask }: ControlProps) {
  const take = (el: HTMLInputElement | HTMLTextAreaElement): void => {
    const words = el.value.trim();
    if (!words) return ask.reset();
    const items = words
      .replace(/^[[(]|[\])]$/g, "")
      .split(/[,;\s]+/)
      .filter(Boolean)
      .map(Number);
    // Anything else is sent as text, and Python reports the error.
    ask.set(items.every(Number.isFinite) ? items : words, el);
  };
  const props = {
    spellcheck: false,
    "aria-label": row.name,
    value: row.value === null ? "" : asText(row.value),
    placeholder: placeholder(row),
    ...described(row),
  };
  return isLong(row.value) ? (
    <textarea class="wb-val wb-long" rows={4} onChange={(event) => take(event.currentTarget)} {...props} />
  ) : (
    <input
      class="wb-val"
      type="text"
      autocomplete="off"
      onChange={(event) => take(event.currentTarget)}
      {...props}
    />
  );
}

/** Fields for the elements. An empty field means the default, or the value of the other elements. */
export function Fields({ row, ask }: ControlProps) {
  const count = asList(row.value).length || row.parts.length;
  const parts = Array.from({ length: count }, (_, at) => row.parts[at] ?? String(at + 1));
  const cells = useCells({ row, ask }, parts);
  return (
    <div class="wb-cells">
      {count === 1
        ? cells
        : cells.map((cell, at) => (
            <label key={at} class="wb-cell">
              <span>{parts[at]}</span>
              {cell}
            </label>
          ))}
    </div>
  );
}

/** Fields for the rows of a matrix, below the column names. */
export function Matrix({ row, ask }: ControlProps) {
  const columns = row.parts.length;
  const count = asList(row.value).length || asList(row.default).length || columns * columns;
  const places = Array.from(
    { length: count },
    (_, index) => `row ${Math.floor(index / columns) + 1}, ${row.parts[index % columns] ?? ""}`,
  );
  const cells = useCells({ row, ask }, places);
  return (
    <div class="wb-matrix" style={{ "--columns": String(columns) }}>
      {row.parts.map((part) => (
        <span key={part} aria-hidden="true">
          {part}
        </span>
      ))}
      {cells}
    </div>
  );
}

function useCells({ row, ask }: ControlProps, names: readonly string[]) {
  const fields = useRef<(HTMLInputElement | null)[]>([]);
  const values = asList(row.value);
  const usual = asList(row.default);
  const send = (from: HTMLInputElement): void => {
    const typed = fields.current.slice(0, names.length).map((el) => el && typedIn(el));
    if (typed.every((value) => value === null)) return ask.reset();
    const filled = typed.map((value, index) => {
      if (value !== null) return value;
      return values.length ? "" : (usual[index] ?? typedIn(from));
    });
    ask.set(filled, from);
  };
  return names.map((name, index) => (
    <NumberField
      key={name}
      ref={(el) => {
        fields.current[index] = el;
      }}
      name={names.length === 1 ? row.name : `${row.name}, ${name}`}
      limits={limitsOf(row)}
      send={(_, el) => send(el)}
      empty={send}
      value={fieldText(values[index] ?? null)}
      placeholder={usual[index] === undefined ? "–" : fieldText(usual[index] ?? null)}
      {...described(row, row.error !== "" && isWrong(row, values, values[index]))}
    />
  ));
}

/** Return whether a list's error may concern this element (an invalid one, if there is any). */
function isWrong(row: ArgRow, values: readonly Json[], value: Json | undefined): boolean {
  const { minimum, maximum } = row;
  const refused = (item: Json | undefined): boolean =>
    typeof item !== "number" || item < (minimum ?? item) || item > (maximum ?? item);
  return refused(value) || !values.some(refused);
}

/** Field for one value for all elements, or fields for one value per element. */
export function Each({ row, ask, roomy = true }: ControlProps & { roomy?: boolean }) {
  const count = asList(row.value).length;
  const bounded = row.low !== null && row.high !== null;
  const single = count === 1;
  return (
    <div class="wb-each">
      {single && bounded && roomy ? <Slide row={row} ask={ask} /> : <Fields row={row} ask={ask} />}
      {count > 0 && <Splitter row={row} ask={ask} single={single} />}
    </div>
  );
}

function Splitter({ row, ask, single }: ControlProps & { single: boolean }) {
  const words = single
    ? `${row.name}: one value for each of ${row.parts.join(", ")}`
    : `${row.name}: one value for all`;
  return (
    <button
      class="wb-split"
      type="button"
      aria-label={words}
      data-tip={words}
      data-wb={single ? "split" : "join"}
      onClick={(event) => {
        const [first = 0] = asList(row.value);
        ask.set(single ? row.parts.map(() => first) : first, event.currentTarget);
      }}
    >
      <Icon name={single ? "split" : "join"} size={13} />
    </button>
  );
}

/**
 * Colour with 8-bit channels: a swatch that opens the browser's colour picker, and a field per
 * channel.
 */
export function Colour({ row, ask }: ControlProps) {
  const values = asList(row.value ?? row.default).map(Number);
  const channel = (index: number): string => {
    const value = values[values.length === 1 ? 0 : index] ?? 0;
    const byte = Math.min(255, Math.max(0, Math.round(Number.isFinite(value) ? value : 0)));
    return byte.toString(16).padStart(2, "0");
  };
  return (
    <div class="wb-colour">
      <input
        type="color"
        class="wb-swatch"
        aria-label={`${row.name}, colour`}
        data-wb="swatch"
        value={`#${channel(0)}${channel(1)}${channel(2)}`}
        onInput={({ currentTarget: swatch }) => {
          const hex = swatch.value.slice(1);
          ask.set(
            [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)),
            swatch,
          );
        }}
      />
      <Each row={row} ask={ask} roomy={false} />
    </div>
  );
}

/** Fields for the lower and the upper end. */
export function Range({ row, ask }: ControlProps) {
  return (
    <Ends row={row} value={row.value ?? row.default} set={ask.set}>
      <span aria-hidden="true">…</span>
    </Ends>
  );
}

interface EndsProps {
  row: ArgRow;
  value: Json;
  set: (value: Json, from: Element) => void;
  /** Content between the fields. */
  children: ComponentChildren;
}

/** Two thumbs on a track if there are limits, and a field at each end. */
export function Ends({ row, value, set, children }: EndsProps) {
  const limits = limitsOf(row);
  const given = asList(value).slice(0, 2);
  const pair = useRef(given);
  pair.current = given;
  const from = useRef<HTMLInputElement>(null);
  const to = useRef<HTMLInputElement>(null);
  const bounded = limits.low !== null && limits.high !== null;
  const send = (next: Json[], el: Element): void => {
    pair.current = next;
    from.current!.value = fieldText(next[0] ?? null);
    to.current!.value = fieldText(next[1] ?? null);
    set(next, el);
  };
  const [low, high] = given.map((end) => (typeof end === "number" ? roundedText(end) : null));
  const field = (at: number) => ({
    limits,
    value: fieldText(given[at] ?? null),
    ...described(row, row.error !== "" && isWrong(row, given, given[at])),
  });
  return (
    <div class="wb-range">
      {bounded && (
        <PairSlider
          name={row.name}
          limits={limits}
          pair={[low ?? limits.low ?? 0, high ?? limits.high ?? 1]}
          send={send}
        />
      )}
      <div class="wb-ends">
        <NumberField
          ref={from}
          name={`Lower end of ${row.name}`}
          send={(typed, el) => send([typed, pair.current[1] ?? typed], el)}
          {...field(0)}
        />
        {children}
        <NumberField
          ref={to}
          name={`Upper end of ${row.name}`}
          send={(typed, el) => send([pair.current[0] ?? typed, typed], el)}
          {...field(1)}
        />
      </div>
    </div>
  );
}
