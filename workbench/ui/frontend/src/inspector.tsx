// Inspector: the arguments of the selected node.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ArgumentRow } from "./inspector/argumentRow";
import { EffectSheet } from "./inspector/effect";
import { InteractionGuard } from "./inspector/interactionGuard";
import { LearntPolicy, PolicyEditor } from "./inspector/policyEditor";
import { Device, NodeHeader } from "./inspector/nodeHeader";
import { PreviousValues } from "./inspector/previousValues";
import { Start } from "./inspector/start";
import { component, type PanelProps } from "./lib/component";
import { useField, useRedraw, useRootData } from "./lib/hooks";
import { undoKey } from "./lib/keyboard";
import { Notice, Notices } from "./lib/notice";
import css from "./styles/inspector.css";
import type { ArgRow, InspectorView } from "./payloads";

const NOTHING = "Select an operator to see its arguments.";

function Inspector({ link, root }: PanelProps<"inspector">) {
  const view = useField(link, "node", {});
  const start = useField(link, "start", {});
  const warnings = useField(link, "warnings", []);
  const redraw = useRedraw();
  const guard = useMemo(() => new InteractionGuard(root, link, redraw), [root, link]);
  const memory = useMemo(() => new PreviousValues(), []);
  const scroll = useRef<HTMLDivElement>(null);
  const notices = useRef<HTMLDivElement>(null);
  const [inUse, setInUse] = useState("");
  const { id = "", op = "" } = view;
  const owner = `${op}:${id}`;
  const folded = useFolded(owner, view);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  useRootData(root, "node", id);
  useLayoutEffect(() => {
    scroll.current!.scrollTop = 0;
  }, [owner]);
  useLayoutEffect(() => {
    root.role = "region";
    root.ariaLabel = "Arguments";
    root.addEventListener("keydown", (event) =>
      undoKey(event, (action) => {
        guard.letGo();
        link.ask(action, {});
      }),
    );
    return () => guard.dispose();
  }, [root, link, guard]);

  const rows = view.rows ?? [];
  const tucked = rows.filter((row) => folded.get(row.name));
  const { devices = [], device_set: told = "" } = view;
  const more = tucked.length + (devices.length && !told ? 1 : 0);
  const open = opened.has(id) || tucked.some((row) => row.error);
  const policyErrors = rows.flatMap(({ editor, error }) => (editor === "policy" && error ? [error] : []));
  const wrong = rows.filter(({ editor, error }) => error && editor !== "policy");
  /** Message of the focused row, or of the first row that has a message. */
  const { name: wrongName = "", error: wrongWords = "" } =
    wrong.find(({ name }) => name === inUse) ?? wrong[0] ?? {};
  /**
   * Remember the row under the pointer or with the focus, and move messages that cover it to the
   * other edge.
   */
  const use = ({ target }: Event): void => {
    const row = (target as Element).closest<HTMLElement>("[data-arg]");
    if (!row) return;
    setInUse(row.dataset["arg"]!);
    scrollClearOf(notices.current!, row, scroll.current!);
  };
  const device = <Device link={link} view={view} />;
  const unfold = (): void => {
    const next = new Set(opened);
    if (!next.delete(id)) next.add(id);
    setOpened(next);
  };
  // Keyed by node, so that controls of different nodes share no state.
  const bins = Number(rows.find(({ name }) => name === "num_magnitude_bins")?.value ?? 0);
  const argument = (row: ArgRow) =>
    row.editor === "policy" ? (
    <PolicyEditor key={`${owner} ${row.name}`} node={id} {...{ row, link, guard, bins }} />
    ) : (
    <ArgumentRow
      key={`${owner} ${row.name}`}
      ports={view.ports ?? {}}
      node={id}
      {...{ owner, row, link, guard, memory }}
    />
  );
  return (
    <div class="wb-inspector-scroll" ref={scroll}>
      <div class="wb-inspector-body" hidden={!id} onPointerOver={use} onFocusIn={use}>
        <NodeHeader link={link} view={view} guard={guard} />
        {told && device}
        <div class="wb-args">{rows.filter((row) => !folded.get(row.name)).map(argument)}</div>
        {rows.some(({ name }) => name === "policy_name") && <LearntPolicy link={link} node={id} />}
        <EffectSheet link={link} node={id} rows={rows} panel={scroll} />
        <button
          class="wb-link wb-more"
          type="button"
          data-wb="more"
          aria-expanded={open}
          hidden={!more}
          onClick={unfold}
        >
          {`${open ? "▾" : "▸"} ${more} more`}
        </button>
        <div class="wb-args" hidden={!open}>
          {tucked.map(argument)}
          {!told && device}
        </div>
      </div>
      <Notices handle={notices}>
        <Notice
          name="row-error"
          role="alert"
          kind={warnings.includes(wrongWords) ? "warning" : "error"}
          words={wrongWords && `${wrongName}: ${wrongWords}`}
        />
        {[...(view.errors ?? []), ...policyErrors].map((error) => (
          <Notice key={error} name="node-error" kind={warnings.includes(error) ? "warning" : "error"} words={error} />
        ))}
      </Notices>
      {!id && (start.name ? <Start link={link} /> : <p class="wb-empty">{NOTHING}</p>)}
    </div>
  );
}

/** Show the messages at the edge of the panel where they do not cover the row. */
function scrollClearOf(notices: HTMLElement, row: HTMLElement, panel: HTMLElement): void {
  const { top, bottom } = row.getBoundingClientRect();
  const covering = notices.getBoundingClientRect();
  if (covering.height && top < covering.bottom && bottom > covering.top)
    notices.toggleAttribute("data-up");
  notices.style.setProperty("--wb-panel-height", `${panel.clientHeight}px`);
}

/** Collapsed rows are determined when a node is selected, so that no row moves during use. */
function useFolded(owner: string, { rows = [] }: Partial<InspectorView>): Map<string, boolean> {
  const folded = useMemo(() => new Map<string, boolean>(), [owner]);
  for (const row of rows) {
    if (!folded.has(row.name)) folded.set(row.name, row.advanced && !row.changed && !row.error);
  }
  return folded;
}

export default component("inspector", css, Inspector);
