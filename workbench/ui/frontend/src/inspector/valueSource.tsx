// Source of an argument's value: fixed, random per sample, or another node's output.

import type { ArgRow } from "../payloads";
import { RandomIcon, Icon } from "../lib/icons";
import { distributionName } from "./randomControls";

export interface AskSource {
  fix(): void;
  /** `op` is the distribution; empty for the last one. */
  randomise(op: string): void;
  link(port: string): void;
}

interface Props {
  row: ArgRow;
  /** Names of the outputs that the row refers to. */
  ports: Record<string, string>;
  ask: AskSource;
}

const FIXED = "fixed";
const LINK = "link:";
const TIPS = {
  fixed: "Sample a random value per sample",
  random: "Use a fixed value",
  linked: "Remove the connection",
} as const;

/** Dice button and a menu of all sources, or an icon with the reason if there are none. */
export function ValueSource({ row, ports, ask }: Props) {
  const { name, mode, tensor, distributions, fixed_only: only } = row;
  const drawable = tensor && (distributions.length > 0 || mode !== "fixed");
  const choose = (to: string): void => {
    if (to === FIXED) ask.fix();
    else if (to.startsWith(LINK)) ask.link(to.slice(LINK.length));
    else ask.randomise(to);
  };
  return (
    <div class="wb-source">
      <button
        class="wb-dice"
        type="button"
        data-wb="dice"
        aria-label={`${name} random`}
        aria-pressed={mode !== "fixed"}
        data-tip={TIPS[mode]}
        hidden={!drawable}
        onClick={() => (mode === "fixed" ? ask.randomise("") : ask.fix())}
      >
        {mode === "linked" ? <Icon name="link" size={14} /> : <RandomIcon />}
      </button>
      <span class="wb-caret wb-reveal" hidden={only !== ""}>
        <Icon name="down" size={9} />
        <select
          aria-label={`Source of the value of ${name}`}
          data-wb="source"
          value={row.link ? LINK + row.link : (row.random?.op ?? FIXED)}
          onChange={(event) => choose(event.currentTarget.value)}
        >
          {tensor && <Sources row={row} ports={ports} />}
        </select>
      </span>
      <span
        class="wb-only"
        role="img"
        aria-label={only || undefined}
        data-tip={only || undefined}
        hidden={!only}
      >
        <Icon name="same" size={12} />
      </span>
    </div>
  );
}

function Sources({ row, ports }: Omit<Props, "ask">) {
  const present = row.link && !row.links.includes(row.link) ? [row.link] : [];
  const links = [...present, ...row.links].map((port) => ({
    value: LINK + port,
    word: ports[port] ?? port,
  }));
  const op = row.random?.op;
  const drawn = op && !row.distributions.includes(op) ? [op] : [];
  const random = [...drawn, ...row.distributions].map((o) => ({ value: o, word: distributionName(o) }));
  return (
    <>
      <option value={FIXED}>a fixed value</option>
      <Group
        label="random per sample"
        options={random}
        none="no random generator for such values"
      />
      <Group label="connected to" options={links} none="no node here outputs such numbers" />
    </>
  );
}

interface GroupProps {
  label: string;
  options: readonly { value: string; word: string }[];
  none: string;
}

function Group({ label, options, none }: GroupProps) {
  return (
    <optgroup label={label}>
      {options.map(({ value, word }) => (
        <option key={value} value={value}>
          {word}
        </option>
      ))}
      {!options.length && <option disabled>{none}</option>}
    </optgroup>
  );
}
