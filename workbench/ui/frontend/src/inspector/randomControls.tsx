// Controls for a value that is sampled per sample.

import type { ArgRow, Json } from "../payloads";
import { Select, TextField } from "../lib/fields";
import { fieldText, NumberField, SHARE, SliderField, UNBOUNDED } from "../lib/numberInputs";
import { asText, described } from "./control";
import { Ends } from "./listControls";

export interface AskRandom {
  set(key: string, value: Json, from: Element): void;
  randomise(op: string): void;
}

interface Props {
  row: ArgRow;
  ask: AskRandom;
}

/** Return the distribution to use when an argument becomes random. */
export function defaultDistribution(row: ArgRow): string {
  return row.distributions[0] ?? "random.uniform";
}

/** Return the name of a distribution: `coin flip` for `random.coin_flip`. */
export function distributionName(op: string): string {
  return op.replace("random.", "").replace("_", " ");
}

export function randomShape(row: ArgRow): string {
  const { op = "", args = {} } = row.random ?? {};
  return JSON.stringify([op, Object.keys(args), row.low, row.high, row.step, row.kind]);
}

export function RandomControl(props: Props) {
  const op = props.row.random?.op;
  if (op === "random.uniform") return <Uniform {...props} />;
  if (op === "random.coin_flip") return <CoinFlip {...props} />;
  return <Others {...props} />;
}

/** Menu of the distributions. */
function Distribution({ row, ask }: Props) {
  const op = row.random?.op ?? "";
  const all = row.distributions.includes(op) ? row.distributions : [op, ...row.distributions];
  return (
    <Select
      class="wb-dist wb-reveal"
      name={`${row.name}, distribution`}
      data-wb="distribution"
      options={all.map((name) => [name, distributionName(name)] as const)}
      value={op}
      choose={ask.randomise}
    />
  );
}

function Uniform({ row, ask }: Props) {
  return (
    <Ends
      row={{ ...row, minimum: null, maximum: null }}
      value={row.random?.args["range"] ?? [0, 1]}
      set={(value, from) => ask.set("range", value, from)}
    >
      <Distribution row={row} ask={ask} />
    </Ends>
  );
}

function CoinFlip({ row, ask }: Props) {
  const value = row.random?.args["probability"] ?? 0.5;
  return (
    <div class="wb-range">
      <SliderField
        name={`${row.name}, probability`}
        limits={SHARE}
        at={Number(value)}
        value={fieldText(value)}
        send={(share, el) => ask.set("probability", share, el)}
        field={described(row)}
      />
      <div class="wb-ends">
        <Distribution row={row} ask={ask} />
      </div>
    </div>
  );
}

/** A field for each argument of a distribution without controls of its own. */
function Others({ row, ask }: Props) {
  const args = Object.entries(row.random?.args ?? {});
  return (
    <div class="wb-range">
      <div class="wb-parts">
        {args.map(([key, value]) => {
          const field = {
            name: `${row.name}, ${key}`,
            value: Array.isArray(value) ? asText(value) : fieldText(value),
            send: (to: Json, el: Element): void => ask.set(key, to, el),
            ...described(row),
          };
          return (
            <label key={key}>
              <span>{key}</span>
              {key === "values" ? <Values {...field} /> : <NumberField limits={UNBOUNDED} {...field} />}
            </label>
          );
        })}
      </div>
      <div class="wb-ends">
        <Distribution row={row} ask={ask} />
      </div>
    </div>
  );
}

interface ValuesProps {
  name: string;
  value: string;
  send: (values: Json, el: Element) => void;
}

function Values({ send, ...rest }: ValuesProps) {
  const take = (words: string, el: Element): void => {
    const parts = words.split(/[,;\s]+/).filter(Boolean);
    const numbers = parts.map(Number);
    send(numbers.every(Number.isFinite) ? numbers : parts, el);
  };
  return <TextField take={take} {...rest} />;
}
