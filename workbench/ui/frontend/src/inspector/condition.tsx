// Condition of an `if`: random, or by label, size or a number.

import { ClassChooser } from "../lib/classChooser";
import { Select, TextField } from "../lib/fields";
import type { Link } from "../lib/link";
import { fieldText, NumberField, UNBOUNDED } from "../lib/numberInputs";
import { Popover } from "../lib/popover";
import type { ConditionEntry, InspectorActions } from "../payloads";
import { DeferUpdates } from "./chance";
import type { InteractionGuard } from "./interactionGuard";

const KINDS = {
  chance: "chance",
  label: "label is",
  size: "size is",
  comparison: "comparison",
} as const;
const MEASURES = ["height", "width", "longer side", "shorter side", "aspect"];
const SIGNS = { "<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=", "!=": "≠" };
const SIDE = { ...UNBOUNDED, low: 1, high: 4000, step: 1 };
const ASPECT = { ...UNBOUNDED, low: 0, high: 4, step: 0.1 };
const NUMBER = { ...UNBOUNDED, low: 0, high: 1, step: 0.1 };

interface Props {
  link: Link<"inspector">;
  guard: InteractionGuard;
  block: string;
  asks: ConditionEntry;
  /** Class names of the data; empty if there are none. */
  classes: readonly string[];
}

type Change = Partial<Omit<InspectorActions["set_condition"], "block" | "kind">>;

export function Condition({ link, guard, block, asks, classes }: Props) {
  const { kind, sources } = asks;
  const ask = (to: string, change: Change = {}): void => {
    link.ask("set_condition", { block, kind: to, ...change });
  };
  return (
    <div class="wb-block-asks" data-wb="asks" role="group" aria-label={`When ${block} runs`}>
      <label>
        when{" "}
        <select
          aria-label={`condition of ${block}`}
          data-wb="asks-kind"
          value={kind}
          onChange={({ currentTarget: { value } }) => ask(value)}
        >
          {!(kind in KINDS) && (
            <option value={kind} disabled>
              {kind ? "another condition" : "nothing"}
            </option>
          )}
          {Object.entries(KINDS).map(([name, words]) => (
            <option
              key={name}
              value={name}
              disabled={name !== "chance" && !sources[name]?.length && name !== kind}
            >
              {words}
            </option>
          ))}
        </select>
      </label>
      {kind === "label" && (
        <Classes {...{ block, classes }} chosen={asks.classes} choose={(to) => ask(kind, { classes: to })} />
      )}
      {kind === "size" && (
        <Select
          class=""
          name={`size measured by ${block}`}
          options={MEASURES}
          value={asks.measure}
          choose={(measure) => ask(kind, { measure })}
        />
      )}
      {kind === "comparison" && <Source {...{ block, asks, ask }} />}
      {(kind === "size" || kind === "comparison") && (
        <>
          <Select
            class=""
            name={`comparison of ${block}`}
            options={Object.entries(SIGNS)}
            value={asks.comparison}
            choose={(comparison) => ask(kind, { comparison })}
          />
          <DeferUpdates guard={guard}>
            <NumberField
              name={`value of ${block}`}
              data-wb="asks-value"
              limits={kind === "comparison" ? NUMBER : asks.measure === "aspect" ? ASPECT : SIDE}
              value={fieldText(asks.value)}
              send={(value, from) => {
                const group = guard.group(from);
                link.ask("set_condition", { block, kind, value, group }, true);
              }}
            />
          </DeferUpdates>
        </>
      )}
      {kind === "size" && (
        <>
          <span class="wb-muted">{asks.measure === "aspect" ? "(width / height) of" : "px of"}</span>
          <Source {...{ block, asks, ask }} />
        </>
      )}
    </div>
  );
}

interface SourceProps {
  block: string;
  asks: ConditionEntry;
  ask: (kind: string, change: Change) => void;
}

/** Menu to select the output that is compared. */
function Source({ block, asks: { kind, source, sources }, ask }: SourceProps) {
  const all = sources[kind] ?? [];
  const ports = all.includes(source) ? all : [source, ...all];
  return (
    <Select
      class=""
      name={`source of ${block}`}
      options={ports.map((port) => [port, port.replace(/\.output$/, "")])}
      value={source}
      choose={(to) => ask(kind, { source: to })}
    />
  );
}

interface ClassesProps {
  block: string;
  classes: readonly string[];
  chosen: number[];
  /** `to` may contain text, which Python refuses with the reason. */
  choose: (to: (number | string)[]) => void;
}

/** Selection of classes by name, or by number if the data have no names. */
function Classes({ block, classes, chosen, choose }: ClassesProps) {
  const name = `classes of ${block}`;
  if (!classes.length) {
    return (
      <TextField
        name={name}
        data-wb="asks-numbers"
        data-tip="Class numbers, such as 0, 3"
        value={chosen.join(", ")}
        take={(text) => {
          if (text === chosen.join(", ")) return; // reset after a refusal
          const words = text.split(/[,:;\s]+/).filter(Boolean);
          choose(words.map((word) => (Number.isInteger(Number(word)) ? Number(word) : word)));
        }}
      />
    );
  }
  const named = (number: number): string => classes[number] ?? String(number);
  const button = {
    class: "wb-quiet wb-asks-classes",
    "data-wb": "asks-classes",
    "aria-label": `${name}: ${chosen.map(named).join(", ")}`,
    children: `${chosen.map(named).join(" or ")} ▾`,
  };
  return (
    <Popover label={name} button={button}>
      <ClassChooser
        names={[...classes]}
        shown={chosen.map(named)}
        choose={(names) => {
          const numbers = names.map((each) => classes.indexOf(each)).filter((at) => at >= 0);
          if (numbers.length) choose(numbers); // the last class cannot be deselected
        }}
      />
    </Popover>
  );
}
