// Row of an argument: name, control, source of its value, and error.

import type { ComponentChild } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ArgRow, Json } from "../payloads";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { asText } from "./control";
import { FixedControl, fixedShape, isWide, ReadOnly } from "./fixedValueControls";
import type { InteractionGuard } from "./interactionGuard";
import type { PreviousValues } from "./previousValues";
import { RandomControl, randomShape, defaultDistribution } from "./randomControls";
import { ValueSource } from "./valueSource";

/** Characters of documentation in the tooltip; the full text opens in the row. */
const TIP_LENGTH = 420;

interface Props {
  /** Key for previous values, made of operator and node. */
  owner: string;
  node: string;
  row: ArgRow;
  /** Names of the outputs that the row refers to. */
  ports: Record<string, string>;
  link: Link<"inspector">;
  guard: InteractionGuard;
  memory: PreviousValues;
}

export function ArgumentRow(props: Props) {
  const { owner, node, row, ports, link, memory } = props;
  const [open, setOpen] = useState(false);
  if (!link.waiting) memory.note(owner, row);
  const params = { node, arg: row.name };
  const doc = explain(row);
  const to = row.default === null ? "not set" : asText(row.default);
  const randomise = (wanted: string): void => {
    const last = memory.op(owner, row.name);
    const op = wanted || (row.distributions.includes(last) ? last : defaultDistribution(row));
    const args: Record<string, Json> = memory.args(owner, row.name, op);
    link.ask("randomise", { ...params, op, args });
  };
  const warns = useField(link, "warnings", []).includes(row.error);
  return (
    <div
      class="wb-arg wb-reveals"
      role="group"
      aria-keyshortcuts="F1"
      onKeyDown={(event) => {
        if (event.key !== "F1") return;
        event.preventDefault();
        setOpen(!open);
      }}
      aria-label={row.name}
      data-wb="arg"
      data-arg={row.name}
      data-changed={row.changed || undefined}
      data-mode={row.mode}
      data-tensor={row.tensor || undefined}
      data-off={row.off ? "true" : undefined}
      data-wrong={row.error ? (warns ? "warning" : "error") : undefined}
      data-wide={row.mode === "random" || (row.mode === "fixed" && isWide(row)) || undefined}
    >
      <div class="wb-arg-label">
        <span class="wb-arg-name" data-tip={shortened(doc)} onClick={() => setOpen(!open)}>
          {breakable(row.name)}
          {row.unit && ` ${row.unit}`}
        </span>
        <button
          class="wb-dice wb-reset wb-reveal"
          type="button"
          aria-label={`Reset ${row.name}`}
          data-wb="reset"
          data-tip={row.locked ? "Remove" : `Changed. Reset to ${shortened(to)}`}
          hidden={!row.changed}
          onClick={() => link.ask("reset", params)}
        >
          <Icon name="reset" size={13} />
        </button>
      </div>
      <Control {...props} randomise={randomise} />
      <ValueSource
        row={row}
        ports={ports}
        ask={{
          fix: () => {
            const value = memory.value(owner, row.name);
            if (value === null) link.ask("fix", params);
            else link.ask("set", { ...params, value, group: "" });
          },
          randomise,
          link: (port) => {
            const at = port.lastIndexOf(".");
            link.ask("link", { ...params, source: port.slice(0, at), output: port.slice(at + 1) });
          },
        }}
      />
      <Note row={row} own={() => link.ask("own", params)} />
      {row.error && <Icon name="warn" size={12} />}
      <p class="wb-arg-doc" hidden={!open}>
        {doc.split("\n\n")[1]}
      </p>
    </div>
  );
}

/** Control of an argument. While it is in use, values from Python are deferred. */
function Control({ owner, node, row, link, guard, memory, randomise }: Props & { randomise: (op: string) => void }) {
  const slot = useRef<HTMLDivElement>(null);
  const shown = useRef<{ shape: string; control: ComponentChild } | null>(null);
  const params = { node, arg: row.name };
  const shape = `${row.mode} ${row.random ? randomShape(row) : fixedShape(row)}`;
  const focus = useRef(false);
  if (!shown.current || !guard.holds(slot.current!)) {
    const other = shown.current !== null && shown.current.shape !== shape;
    focus.current = other && slot.current!.querySelector(":focus") !== null;
    shown.current = { shape, control: renderControl() };
  }
  useLayoutEffect(() => {
    if (focus.current) slot.current!.querySelector<HTMLElement>("select, input, button")?.focus();
    focus.current = false;
  });
  return (
    <div class="wb-arg-control" ref={slot} data-tip={row.off || undefined}>
      {shown.current.control}
    </div>
  );

  function renderControl(): ComponentChild {
    if (row.mode === "linked") {
      return <ReadOnly key={shape} name={`${row.name}, source`} value={`← ${row.link ?? ""}`} />;
    }
    if (row.mode === "random") {
      const set = (key: string, value: Json, from: Element): void => {
        memory.noteSentDraw(owner, row, key, value);
        link.ask("set_random", { ...params, key, value, group: guard.group(from) }, true);
      };
      return <RandomControl key={shape} row={row} ask={{ set, randomise }} />;
    }
    const ask = {
      set: (value: Json, from: Element): void => {
        memory.noteSent(owner, row, value);
        link.ask("set", { ...params, value, group: guard.group(from) }, true);
      },
      reset: (): void => {
        link.ask("reset", params);
      },
    };
    return <FixedControl key={shape} row={row} ask={ask} />;
  }
}

/** Note on other arguments that use the same random value. */
function Note({ row, own }: { row: ArgRow; own: () => void }) {
  const shared = row.random?.shared ?? [];
  return (
    <p class="wb-arg-note" data-wb="note">
      {shared.length > 0 && (
        <>
          {`shared with ${shared.join(", ")} · `}
          <button class="wb-link" type="button" data-wb="own" onClick={own}>
            use a separate value
          </button>
        </>
      )}
    </p>
  );
}

function explain(row: ArgRow): string {
  const same = row.label.toLowerCase().replaceAll(" ", "_") === row.name.toLowerCase();
  const head = row.label && !same ? `${row.name} · ${row.label}` : row.name;
  const { low, high } = row;
  const range = row.mode === "fixed" && low !== null && high !== null;
  const parts = [
    row.locked,
    row.doc.replace(/\n\n+/g, "\n"),
    range && `Usual range ${low} to ${high}${row.unit && ` ${row.unit}`}.`,
    row.default !== null && `Default: ${shortened(asText(row.default), 80) || "empty"}.`,
    row.fixed_only,
    row.deprecated && `Deprecated: ${row.deprecated}`,
  ];
  return `${head}\n\n${parts.filter(Boolean).join("\n")}`;
}

function shortened(words: string, most = TIP_LENGTH): string {
  return words.length > most ? `${words.slice(0, most)}…` : words;
}

/** Return a name in which lines can break after an underscore. */
function breakable(name: string): ComponentChild[] {
  return name.split(/(?<=_)/).flatMap((part, index) => (index ? [<wbr key={index} />, part] : [part]));
}
