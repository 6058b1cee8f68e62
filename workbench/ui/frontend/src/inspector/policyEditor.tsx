// Editor of a custom policy: a row per sub-policy with its picture, its operations with their
// fields, and buttons to add, copy, move and remove. Each change is one step of undo.

import type { ComponentChild } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { IconButton, WordButton } from "../lib/button";
import { paintPart, type Sheet } from "../lib/contactSheet";
import { Select } from "../lib/fields";
import { useField, useRedraw } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { jsonEqual } from "../lib/jsonEquality";
import type { Link } from "../lib/link";
import { fieldText, NumberField, SHARE, UNBOUNDED } from "../lib/numberInputs";
import { useSheet } from "../lib/useSheet";
import type { ArgRow, Json, PolicyHeader } from "../payloads";
import type { InteractionGuard } from "./interactionGuard";
import { useRowsInView } from "./rowsInView";

/** Name, probability and, if the augmentation has one, magnitude. */
type Operation = Json[];
type Policy = Operation[][];

const MOST_SUB_POLICIES = 100;
const MOST_OPERATIONS = 8;
const USUAL: Record<string, boolean> = {};
const NONE: string[] = [];

interface Props {
  link: Link<"inspector">;
  node: string;
  row: ArgRow;
  /** Number of magnitude levels. */
  bins: number;
  guard: InteractionGuard;
}

export function PolicyEditor({ link, node, row, bins, guard }: Props) {
  const redraw = useRedraw();
  const takes = useField(link, "augmentations", USUAL);
  const learnt = useField(link, "policies", NONE);
  const { sheet } = useSheet<PolicyHeader, "policy_pictures">(link, "policy_pictures");
  const list = useRef<HTMLDivElement>(null);
  const shown = useRef<ComponentChild>(null);
  const next = useRef("");
  // The value that was last sent, to which later changes are applied until Python responds.
  const present = useRef<Policy>([]);
  if (!link.waiting) present.current = policyOf(row.value);
  useRowsInView(list, link, present.current.length);
  useLayoutEffect(() => {
    const wanted = next.current && list.current?.parentElement?.querySelector<HTMLElement>(next.current);
    if (!wanted) return;
    next.current = "";
    wanted.focus();
  });

  /** `focus` is the element to focus next. */
  const change = (to: Policy, focus: string, group = ""): void => {
    present.current = to;
    next.current = focus;
    link.ask("set", { node, arg: row.name, value: to, group });
    shown.current = null;
    redraw();
  };
  const edit: Edit = {
    rows: (make, focus) => change(make([...present.current]), focus),
    operations: (at, make, focus) =>
      change(
        present.current.map((own, index) => (index === at ? make([...own]) : own)),
        focus,
      ),
    operation: (at, place, to, from) => {
      const own = present.current.map((each) => each.map((operation) => [...operation]));
      own[at]![place] = to;
      present.current = own;
      link.ask("set", { node, arg: row.name, value: own, group: from ? guard.group(from) : "" });
      if (!from) {
        shown.current = null;
        redraw();
      }
    },
  };
  // While a field is being edited, values from Python are deferred.
  if (shown.current === null || !list.current || !guard.holds(list.current)) {
    shown.current = present.current.map((own, at, { length }) => (
      <SubPolicy
        key={at}
        {...{ own, at, takes, bins, edit, sheet }}
        node={node}
        count={length}
      />
    ));
  }
  return (
    <section class="wb-policy" data-wb="policy" data-arg={row.name} aria-label="Sub-policies">
      <div class="wb-policy-head">
        <b>{countText(present.current.length)}</b>
        <Select
          class="wb-dist"
          data-wb="policy-learnt"
          name="Start with a learned policy"
          options={[["", "Start with …"], ...learnt]}
          value=""
          choose={(name) => {
            if (name) link.ask("own_policy", { node, name });
          }}
        />
      </div>
      <div class="wb-policy-rows" ref={list} role="list">
        {shown.current}
      </div>
      <WordButton
        label="Add a sub-policy"
        name="policy-add"
        icon="plus"
        disabled={present.current.length >= MOST_SUB_POLICIES}
        onClick={() => {
          const at = present.current.length;
          edit.rows((rows) => [...rows, [newOperation(takes, bins, "rotate")]], operationSelector(at, 0, "name"));
        }}
      />
    </section>
  );
}

/** Button to edit the learned policy of a node. */
export function LearntPolicy({ link, node }: Pick<Props, "link" | "node">) {
  return (
    <WordButton
      label="Edit sub-policies"
      name="own-policy"
      icon="pencil"
      data-tip="Copy it to a custom policy, which initially has the same effect"
      onClick={() => link.ask("own_policy", { node, name: "" })}
    />
  );
}

interface Edit {
  rows: (make: (rows: Policy) => Policy, focus: string) => void;
  operations: (at: number, make: (own: Operation[]) => Operation[], focus: string) => void;
  /** `from` is the field being edited: consecutive typing is one step of undo. */
  operation: (at: number, place: number, to: Operation, from?: Element) => void;
}

interface RowProps {
  own: Operation[];
  at: number;
  count: number;
  node: string;
  takes: Record<string, boolean>;
  bins: number;
  edit: Edit;
  sheet: Sheet<PolicyHeader> | null;
}

function SubPolicy({ own, at, count, node, takes, bins, edit, sheet }: RowProps) {
  const name = `sub-policy ${at + 1}`;
  return (
    <div class="wb-policy-row" role="listitem" aria-label={name} data-row={at} data-wb="sub-policy">
      <Picture {...{ own, node, sheet, name }} />
      <div class="wb-policy-row-head">
        <b>{at + 1}</b>
        <span class="wb-policy-tools">
          <Tools
            name={name}
            stem="row"
            at={at}
            count={count}
            room={count < MOST_SUB_POLICIES}
            change={(make, to, tool) => edit.rows(make, `[data-row="${to}"] [data-wb="row-${tool}"]`)}
          />
        </span>
        <WordButton
          label="Operation"
          name="policy-add-operation"
          icon="plus"
          aria-label={`Add an operation to ${name}`}
          disabled={own.length >= MOST_OPERATIONS}
          onClick={() =>
            edit.operations(
              at,
              (all) => [...all, newOperation(takes, bins, "equalize")],
              operationSelector(at, own.length, "name"),
            )
          }
        />
      </div>
      {own.map((operation, place) => (
        <OperationFields
          key={place}
          {...{ operation, at, place, takes, bins, edit }}
          count={own.length}
        />
      ))}
    </div>
  );
}

interface OperationProps {
  operation: Operation;
  at: number;
  place: number;
  count: number;
  takes: Record<string, boolean>;
  bins: number;
  edit: Edit;
}

function OperationFields({ operation, at, place, count, takes, bins, edit }: OperationProps) {
  const [name = "", share = 1, magnitude = null] = operation;
  const known = String(name);
  const called = `operation ${place + 1} of sub-policy ${at + 1}`;
  const limits = { ...UNBOUNDED, low: 0, high: bins - 1, step: 1, minimum: 0, maximum: bins - 1, whole: true };
  const names = Object.keys(takes);
  return (
    <div class="wb-policy-operation" role="group" aria-label={called} data-operation={place}>
      <Select
        data-wb="policy-name"
        name={`Augmentation, ${called}`}
        options={[...(names.includes(known) ? [] : [known]), ...names]}
        value={known}
        choose={(value) => edit.operation(at, place, withOperationName(value, share, magnitude, takes, bins))}
      />
      <span class="wb-policy-numbers">
        <label data-tip="Probability that it is applied">
          p
          <NumberField
            name={`Probability, ${called}`}
            limits={{ ...SHARE, step: 0.1 }}
            value={fieldText(share)}
            data-wb="policy-probability"
            send={(value, el) => edit.operation(at, place, [name, value, ...operation.slice(2)], el)}
          />
        </label>
        <label data-tip={`Magnitude, 0 to ${bins - 1}`} hidden={takes[known] === false && magnitude === null}>
          m
          <NumberField
            name={`Magnitude, ${called}`}
            limits={limits}
            value={fieldText(magnitude)}
            data-wb="policy-magnitude"
            send={(value, el) => edit.operation(at, place, [name, share, value], el)}
          />
        </label>
        <span class="wb-policy-tools">
          <Tools
            name={called}
            stem="operation"
            at={place}
            count={count}
            room={count < MOST_OPERATIONS}
            change={(make, to, tool) =>
              edit.operations(at, make, `[data-row="${at}"] [data-operation="${to}"] [data-wb="operation-${tool}"]`)
            }
          />
        </span>
      </span>
    </div>
  );
}

interface ToolsProps {
  name: string;
  stem: "row" | "operation";
  at: number;
  count: number;
  /** True if another item can be added. */
  room: boolean;
  /** `to` is the new position of the focused item; `tool` the button to focus. */
  change: (make: <T>(all: T[]) => T[], to: number, tool: string) => void;
}

/** Buttons to move, copy and remove an item of a list. */
function Tools({ name, stem, at, count, room, change }: ToolsProps) {
  const move = (by: -1 | 1): void => {
    const to = at + by;
    const end = to === 0 || to === count - 1; // the pressed button is disabled there
    const tool = end ? (by < 0 ? "down" : "up") : by < 0 ? "up" : "down";
    change((all) => swapped(all, at, to), to, tool);
  };
  return (
    <>
      <IconButton label={`Move ${name} up`} name={`${stem}-up`} disabled={at === 0} onClick={() => move(-1)}>
        <Icon name="up" size={12} />
      </IconButton>
      <IconButton
        label={`Move ${name} down`}
        name={`${stem}-down`}
        disabled={at === count - 1}
        onClick={() => move(1)}
      >
        <Icon name="down" size={12} />
      </IconButton>
      <IconButton
        label={`Duplicate ${name}`}
        name={`${stem}-copy`}
        disabled={!room}
        onClick={() => change((all) => [...all.slice(0, at + 1), ...all.slice(at)], at + 1, "copy")}
      >
        <Icon name="copy" size={12} />
      </IconButton>
      <IconButton
        label={`Remove ${name}`}
        name={`${stem}-remove`}
        disabled={count === 1}
        onClick={() => {
          const left = Math.min(at, count - 2);
          // the last item cannot be removed, so focus another button
          change((all) => all.filter((_, place) => place !== at), left, count === 2 ? "copy" : "remove");
        }}
      >
        <Icon name="close" size={12} />
      </IconButton>
    </>
  );
}

interface PictureProps {
  own: Operation[];
  node: string;
  sheet: Sheet<PolicyHeader> | null;
  name: string;
}

/** The selected sample after the sub-policy; faint while it shows another one. */
function Picture({ own, node, sheet, name }: PictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const painted = useRef(false);
  const header = sheet?.header.node === node ? sheet.header : null;
  const found = useMemo(
    () => header?.pictures.find(({ sub_policy }) => hasSameSteps(sub_policy as Operation[], own)),
    [header, own],
  );
  useLayoutEffect(() => {
    if (!found?.box.length || !canvas.current || !sheet) return;
    paintPart(canvas.current, sheet.pixels, found.box);
    painted.current = true;
  }, [found, sheet]);
  const said = header?.error || found?.error || "";
  return (
    <span
      class="wb-policy-picture"
      data-wb="policy-picture"
      data-pictured={found?.box.length ? "true" : undefined}
      data-tip={said || `The selected sample after ${name}, with all operations applied`}
    >
      <canvas ref={canvas} role="img" aria-label={`The selected sample after ${name}`} />
      {said && !painted.current && <i>{said}</i>}
    </span>
  );
}

/**
 * Return whether two sub-policies produce the same picture: probabilities do not matter, because
 * all operations are applied.
 */
function hasSameSteps(one: Operation[], other: Operation[]): boolean {
  const applied = (all: Operation[]): Json => all.map(([name, , magnitude = null]) => [name ?? "", magnitude]);
  return jsonEqual(applied(one), applied(other));
}

function operationSelector(at: number, place: number, name: string): string {
  return `[data-row="${at}"] [data-operation="${place}"] [data-wb="policy-${name}"]`;
}

function policyOf(value: Json): Policy {
  const rows = Array.isArray(value) ? value : [];
  return rows.map((own) => (Array.isArray(own) ? own.map((each) => (Array.isArray(each) ? each : [each])) : []));
}

function newOperation(takes: Record<string, boolean>, bins: number, name: string): Operation {
  return withOperationName(name, 0.5, null, takes, bins);
}

/** Change the augmentation of an operation, with a magnitude if it has one. */
function withOperationName(
  name: string,
  share: Json,
  magnitude: Json,
  takes: Record<string, boolean>,
  bins: number,
): Operation {
  return takes[name] ? [name, share, magnitude ?? Math.floor(bins / 2)] : [name, share];
}

function swapped<T>(all: T[], one: number, other: number): T[] {
  const made = [...all];
  [made[one], made[other]] = [made[other]!, made[one]!];
  return made;
}

function countText(count: number): string {
  return `${count} ${count === 1 ? "sub-policy" : "sub-policies"}`;
}
