// Effect of one or two arguments: the selected sample at several values, which can be applied.

import { Fragment, type RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { paintPart } from "../lib/contactSheet";
import { Select } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { jsonEqual } from "../lib/jsonEquality";
import type { Link } from "../lib/link";
import { useSheet } from "../lib/useSheet";
import { choiceText } from "./fixedValueControls";
import type { ArgRow, EffectEntry, EffectHeader, Json } from "../payloads";

interface Props {
  link: Link<"inspector">;
  node: string;
  rows: ArgRow[];
}

interface SheetProps extends Props {
  /** Scroll container of the inspector. */
  panel: RefObject<HTMLElement | null>;
}

export function EffectSheet({ link, node, rows, panel }: SheetProps) {
  const choices = useField(link, "effect_choices", NONE);
  const open = useField(link, "effect_open", false);
  const remark = useField(link, "effect_remark", "");
  const [first = "", second = ""] = useField(link, "effect_args", NONE);
  const section = useRef<HTMLElement>(null);
  const decided = useRef(false);
  const some = choices.length > 0;
  useLayoutEffect(() => {
    const decide = (): void => {
      const room = hasRoom(section.current!, panel.current!);
      if (some && !decided.current && link.get("effect_open", false) !== room) {
        link.set("effect_open", room);
      }
    };
    // A host may set the panel's height after the first rendering.
    const resized = new ResizeObserver(decide);
    resized.observe(panel.current!);
    return () => resized.disconnect();
  }, [node, some]);
  const choose = (...names: string[]): void => link.set("effect_args", names.filter(Boolean));
  return (
    <section ref={section} class="wb-effect wb-reveals" data-wb="effect" aria-label="Effect" hidden={!choices.length && !remark}>
      <div class="wb-effect-head" hidden={!choices.length}>
        <button
          class="wb-link"
          type="button"
          data-wb="effect-open"
          aria-expanded={open}
          onClick={() => {
            decided.current = true;
            link.set("effect_open", !open);
          }}
        >
          {open ? "▾" : "▸"} Effect of
        </button>
        {open ? (
          <>
            <Choice
              label="First argument to vary"
              value={first}
              names={choices}
              choose={(name) => choose(name, second === name ? "" : second)}
            />
            <span class={second ? undefined : "wb-reveal"}>
              {second && "and "}
              <Choice
                label="Second argument to vary"
                value={second}
                names={["", ...choices.filter((name) => name !== first)]}
                choose={(name) => choose(first, name)}
              />
            </span>
          </>
        ) : (
          <span class="wb-muted">{[first, second].filter(Boolean).join(" and ")}</span>
        )}
      </div>
      {open && choices.length > 0 && <Pictures {...{ link, node, rows }} args={[first, second].filter(Boolean)} />}
      {remark && (open || !choices.length) && (
        <p class="wb-muted" data-wb="effect-remark">
          {remark}
        </p>
      )}
    </section>
  );
}

/** Height in pixels of a row of pictures with its header. */
const ROOM = 110;

/** Return whether the panel can show the pictures without scrolling. */
function hasRoom(section: HTMLElement, panel: HTMLElement): boolean {
  const others = panel.firstElementChild!.scrollHeight - section.offsetHeight;
  return panel.clientHeight - others > ROOM;
}

const NONE: string[] = [];

interface ChoiceProps {
  label: string;
  value: string;
  names: string[];
  choose: (name: string) => void;
}

function Choice({ label, value, names, choose }: ChoiceProps) {
  return (
    <Select
      class="wb-dist"
      name={label}
      options={names.map((name) => [name, name || (value ? "none" : "only")] as const)}
      {...{ value, choose }}
    />
  );
}

function Pictures({ link, node, rows, args }: Props & { args: string[] }) {
  const { sheet, unreadable } = useSheet<EffectHeader, "effect">(link, "effect");
  const stale = useField(link, "effect_stale", false);
  const blocked = useField(link, "effect_blocked", "");
  const grid = useRef<HTMLDivElement>(null);
  const header = sheet?.header;
  if (!header || header.node !== node || !jsonEqual(header.args, args)) {
    const waiting = blocked ? "Computed once the graph can run." : "Computing …";
    return <p class="wb-muted wb-effect-wait">{unreadable || waiting}</p>;
  }
  const { pictures, columns, note, error } = header;
  const crossed = args.length > 1;
  const axis = crossed ? "max-content " : "";
  const varied = args.map((arg) => rows.find(({ name }) => name === argumentOf(arg)));
  const present = pictures.findIndex(({ values }) =>
    varied.every((row, at) => row?.mode === "fixed" && jsonEqual(row.value, values[at] as Json)),
  );
  const drawn = varied.flatMap((row) => (row && row.mode !== "fixed" ? [row.name] : []));
  const fixes = [...new Set(drawn)];
  const tip = fixes.length ? `${fixes.join(" and ")}will become a fixed value` : undefined;
  const adopt = ({ values }: EffectEntry): void => {
    adopted += 1;
    const group = `${link.view}-effect-${adopted}`;
    args.forEach((name, at) =>
      link.ask("set", { node, arg: argumentOf(name), value: values[at] as Json, group }),
    );
  };
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    const buttons = [...grid.current!.querySelectorAll<HTMLElement>("button")];
    const next = buttons[buttons.indexOf(event.target as HTMLElement) + (by ?? 0)];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    next?.focus();
  };
  return (
    <>
      {error && <p class="wb-arg-error">{error}</p>}
      <div
        class="wb-effect-grid"
        ref={grid}
        role="group"
        aria-label={`Effect of ${args.join(" and ")}`}
        data-stale={stale || undefined}
        style={{ gridTemplateColumns: `${axis}repeat(${columns}, minmax(0, 1fr))` }}
        onKeyDown={step}
      >
        {crossed && <span class="wb-effect-axis" />}
        {crossed &&
          pictures.slice(0, columns).map(({ shown }, at) => (
            <AxisHead key={`column ${at}`} arg={args[0]!} value={shown[0] as Json} />
          ))}
        {pictures.map((picture, at) => (
          <Fragment key={at}>
            {crossed && at % columns === 0 && (
              <AxisHead arg={args[1]!} value={picture.shown[1] as Json} />
            )}
            <Picture
              picture={picture}
              pixels={sheet.pixels}
              args={args}
              present={at === present}
              reached={at === Math.max(present, 0)}
              tip={tip}
              adopt={() => adopt(picture)}
            />
          </Fragment>
        ))}
      </div>
      {note && (
        <p class="wb-muted" data-wb="effect-note">
          {note}
        </p>
      )}
      {failures(pictures).map((failure) => (
        <p key={failure} class="wb-arg-error" data-wb="effect-error">
          {failure}
        </p>
      ))}
    </>
  );
}

/** Return each distinct reason for a missing picture once, with the values. */
function failures(pictures: EffectEntry[]): string[] {
  const reasons = new Map<string, { error: string; values: string[] }>();
  for (const { error, shown } of pictures) {
    const alike = error.replace(/[\d.]+/g, ""); // ignore numbers in messages, such as the sizes 520 and 772
    const reason = reasons.get(alike) ?? { error, values: [] };
    if (error) reasons.set(alike, reason);
    reason.values.push(shown.map((value) => shortText(value)).join(" and "));
  }
  return [...reasons.values()].map(({ error, values }) => `${values.join(", ")}: ${error}`);
}

let adopted = 0;

/** Return the argument of a list element: `size` for `size.h`. */
function argumentOf(name: string): string {
  return name.split(".")[0]!;
}

/** Head of a row or column, hidden from screen readers, because pictures are labelled. */
function AxisHead({ arg, value }: { arg: string; value: Json }) {
  return (
    <span class="wb-effect-axis" data-wb="effect-axis" data-tip={arg} aria-hidden="true">
      {shortText(value)}
    </span>
  );
}

interface PictureProps {
  picture: EffectEntry;
  pixels: ImageBitmap;
  args: string[];
  present: boolean;
  /** True if Tab focuses the picture; arrow keys focus all others. */
  reached: boolean;
  tip: string | undefined;
  adopt: () => void;
}

function Picture({ picture, pixels, args, present, reached, tip, adopt }: PictureProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { box, error, shown } = picture;
  const texts = useMemo(() => shown.map((value) => shortText(value)), [shown]);
  useLayoutEffect(() => {
    if (canvas.current && box.length) paintPart(canvas.current, pixels, box);
  }, [pixels, box]);
  const named = args.map((arg, at) => `${arg} ${texts[at]}`).join(", ");
  return (
    <button
      type="button"
      data-wb="effect-value"
      tabIndex={reached ? 0 : -1}
      aria-label={`${named}: apply`}
      aria-current={present ? "true" : undefined}
      aria-description={error || tip}
      data-tip={error || tip}
      onClick={adopt}
    >
      {box.length ? <canvas ref={canvas} aria-hidden="true" /> : <i>{error ? <Icon name="warn" size={14} /> : "no preview"}</i>}
      {args.length === 1 && <span>{texts[0]}</span>}
    </button>
  );
}

function shortText(value: Json): string {
  return typeof value === "boolean" ? (value ? "yes" : "no") : choiceText(value);
}
