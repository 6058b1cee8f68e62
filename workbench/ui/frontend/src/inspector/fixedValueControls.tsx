// Controls for fixed values other than lists of numbers.

import type { ComponentType } from "preact";
import type { ArgRow, Json } from "../payloads";
import { Select, TextField } from "../lib/fields";
import { Icon } from "../lib/icons";
import { roundedText } from "../lib/number";
import { fieldText, NumberField, SliderField } from "../lib/numberInputs";
import { asText, described, limitsOf, placeholder, type ControlProps } from "./control";
import { Colour, Each, Fields, MANY, Matrix, Numbers, Range, isLong } from "./listControls";

const CONTROLS: Record<ArgRow["editor"], ComponentType<ControlProps>> = {
  check: Checkbox,
  choice: Choice,
  number: (props) => (isBounded(props.row) ? <Slide {...props} /> : <NumberInput {...props} />),
  text: (props) => <Line {...props} parse={(words) => words} />,
  texts: (props) => <Line {...props} parse={(words) => texts(words, props.row.kind)} />,
  numbers: Numbers,
  fields: Fields,
  each: Each,
  colour: Colour,
  range: Range,
  matrix: Matrix,
  shown: Shown,
  policy: Shown, // edited by policyEditor.tsx
};

export function FixedControl(props: ControlProps) {
  const Control = CONTROLS[props.row.editor];
  return <Control {...props} />;
}

/** Return whether a fixed value needs the full width of the row, below the name. */
export function isWide(row: ArgRow): boolean {
  const { editor, kind, value, parts } = row;
  const given = Array.isArray(value) ? value.length : value === null ? 0 : 1;
  switch (editor) {
    case "matrix":
      return true;
    case "number":
    case "range":
      return isBounded(row);
    case "numbers":
      return isLong(value);
    case "fields":
      return (given || parts.length) >= MANY;
    case "each":
      return given === 1 ? isBounded(row) : (given || parts.length) >= MANY;
    case "colour":
      return given !== 1 && (given || parts.length) >= MANY;
    case "shown":
      return kind === "str";
    default:
      return false;
  }
}

/** Return a key of the properties that require a new control when they change. */
export function fixedShape(row: ArgRow): string {
  const count = Array.isArray(row.value) ? row.value.length : -1;
  const parts = row.parts.length ? [row.parts, count] : count > 8;
  return JSON.stringify([row.editor, row.low, row.high, row.step, row.choices, parts]);
}

function isBounded({ low, high }: ArgRow): boolean {
  return low !== null && high !== null;
}

function NumberInput({ row, ask }: ControlProps) {
  return (
    <NumberField
      name={row.name}
      limits={limitsOf(row)}
      send={ask.set}
      empty={ask.reset}
      value={fieldText(row.value)}
      placeholder={placeholder(row)}
      {...described(row)}
    />
  );
}

/** Slider and field for a number with a default range. */
export function Slide({ row, ask }: ControlProps) {
  const value = singleValue(row.value);
  const usual = singleValue(row.default);
  const at = typeof value === "number" ? value : typeof usual === "number" ? usual : (row.low ?? 0);
  const marks = described(row);
  return (
    <SliderField
      name={row.name}
      limits={limitsOf(row)}
      at={at}
      value={fieldText(value)}
      send={ask.set}
      empty={ask.reset}
      track={{ "aria-valuetext": `${roundedText(at)} ${row.unit}`.trim(), ...marks }}
      field={{ placeholder: placeholder(row), ...marks }}
    />
  );
}

/** Return a single value, even if it is stored as a list. */
function singleValue(value: Json): Json {
  return Array.isArray(value) && value.length === 1 ? (value[0] ?? null) : value;
}

/** Checkbox for a boolean, which is stored as 1 or 0 if the argument is an integer. */
function Checkbox({ row, ask }: ControlProps) {
  const { value, name, kind } = row;
  const known = typeof value === "boolean" || value === 0 || value === 1;
  const on = value === true || value === 1;
  return (
    <label class="wb-val wb-check">
      <input
        type="checkbox"
        class="wb-hidden"
        aria-label={name}
        checked={on}
        indeterminate={!known}
        onChange={({ currentTarget: box }) => {
          const word = box.parentElement?.querySelector("span");
          if (word) word.textContent = box.checked ? "yes" : "no";
          ask.set(kind === "int" ? Number(box.checked) : box.checked, box);
        }}
        {...described(row)}
      />
      <i>
        <Icon name="check" size={11} />
      </i>
      <span>{known ? (on ? "yes" : "no") : asText(value ?? placeholder(row))}</span>
    </label>
  );
}

function Choice({ row, ask }: ControlProps) {
  const same = (choice: Json): boolean => JSON.stringify(choice) === JSON.stringify(row.value);
  const offered = row.choices.some(same) ? row.choices : [row.value, ...row.choices];
  return (
    <Select
      name={row.name}
      options={offered.map((choice, index) => {
        return [String(index), choice === null ? placeholder(row) : choiceText(choice)] as const;
      })}
      value={String(offered.findIndex(same))}
      choose={(index, el) => {
        const value = offered[Number(index)];
        if (value === undefined || value === null) ask.reset();
        else ask.set(value, el);
      }}
      {...described(row)}
    />
  );
}

/** Return the name without the prefix that all members of the enumeration share. */
export function choiceText(choice: Json): string {
  return asText(choice).replace(/^INTERP_(?=\w)/, "") || "none";
}

/** Text field that is applied on Enter or when it loses the focus. */
function Line({ row, ask, parse }: ControlProps & { parse: (words: string) => Json }) {
  return (
    <TextField
      name={row.name}
      value={row.value === null ? "" : asText(row.value)}
      placeholder={placeholder(row)}
      take={(text, el) => {
        const words = text.trim();
        if (words) ask.set(parse(words), el);
        else ask.reset();
      }}
      {...described(row)}
    />
  );
}

/** Parse `a, b` as a list; `["a, b"]` is a text that contains a comma. */
function texts(words: string, kind: string): Json {
  if (words.startsWith("[")) {
    try {
      return JSON.parse(words) as Json;
    } catch {
      return words;
    }
  }
  const parts = words.split(",").map((part) => part.trim());
  if (kind !== "bool_list") return parts.filter(Boolean);
  return parts.map((part) => ({ yes: true, true: true, no: false, false: false })[part] ?? part);
}

/** Maximum number of visible lines of a text. Longer text scrolls. */
const MOST_LINES = 12;
/** Number of letters per line in a pane of default width. */
const LETTERS = 34;

function linesOf(words: string): number {
  return words.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LETTERS)), 0);
}

/** Read-only value; text is shown with its line breaks. */
function Shown({ row }: ControlProps) {
  const words = row.value === null ? "not set" : asText(row.value);
  const tip = row.locked || undefined;
  if (row.kind !== "str") {
    return <ReadOnly name={row.name} value={words} data-tip={tip} {...described(row)} />;
  }
  return (
    <textarea
      class="wb-val wb-linked wb-long"
      readOnly
      rows={Math.min(MOST_LINES, linesOf(words))}
      aria-label={row.name}
      value={words}
      data-tip={tip}
      {...described(row)}
    />
  );
}

interface ReadOnlyProps {
  name: string;
  value: string;
  "data-tip"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
  "aria-description"?: string | undefined;
}

/** Read-only field. */
export function ReadOnly({ name, ...rest }: ReadOnlyProps) {
  return <input class="wb-val wb-linked" type="text" readOnly aria-label={name} {...rest} />;
}
