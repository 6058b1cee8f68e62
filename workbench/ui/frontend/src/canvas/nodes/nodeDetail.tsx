// Output of a node for the selected sample: pictures, shape, type, values, histogram, time.

import { useLayoutEffect, useRef } from "preact/compat";
import { paintPart, type Sheet } from "../../lib/contactSheet";
import type { DetailHeader, Histogram as HistogramValues, StepEntry, StepOutputEntry } from "../../payloads";
import { useCanvasState, useCanvasStore } from "../state/context";
import { RandomIcon, Icon } from "../../lib/icons";

/** Pixels between the card and the popup, and to the window's edge. */
const GAP = 12;

export function NodeDetail() {
  const store = useCanvasStore();
  const id = useCanvasState((state) => state.detail_of);
  const node = useCanvasState((state) => state.nodes.find((entry) => entry.id === id));
  const detail = useCanvasState((state) => state.detail);
  const stale = useCanvasState((state) => state.stale);
  const el = useRef<HTMLDivElement>(null);
  const shown = !!node;
  const header = detail?.header.node === id ? detail.header : undefined;
  useLayoutEffect(() => {
    const box = el.current;
    if (!box || !shown) return;
    if (!box.matches(":popover-open")) box.showPopover();
    place(box, store.dom.element(id));
  }, [id, shown, header]);
  if (!node) return null;
  const step = header?.steps[0];
  return (
    <div
      ref={el}
      className="wb-pop wb-detail"
      popover="manual"
      role="dialog"
      aria-label={`Output of ${id}`}
      data-wb="detail"
      data-node={id}
      data-stale={stale ? true : undefined}
      data-timed={header?.timing ? true : undefined}
    >
      <header>
        <b>{node.title}</b>
        <button
          type="button"
          aria-label="Close"
          data-wb="detail-close"
          onClick={() => {
            store.look("");
            store.dom.focus(id);
          }}
        >
          <Icon name="close" size={12} />
        </button>
      </header>
      {header?.file && <p className="wb-detail-file">{header.file}</p>}
      <Time step={step} header={header} />
      {header?.error && <p role="alert">{header.error}</p>}
      {detail &&
        step?.outputs.map((output) => (
          <Output key={output.name} output={output} sheet={detail} named={step.outputs.length > 1} />
        ))}
      {step && (step.draws.length > 0 || step.drawn) && (
        <p className="wb-detail-draws">
          <RandomIcon size={12} /> {[...step.draws, ...(step.drawn ? ["internal random values"] : [])].join(", ")}
        </p>
      )}
    </div>
  );
}

function Time({ step, header }: { step: StepEntry | undefined; header: DetailHeader | undefined }) {
  if (!step || !header) return null;
  const ms = step.milliseconds;
  const untimed = step.untimed && `Not timed: ${step.untimed}`;
  const floor = header.floor === null ? "" : ` An empty pipeline takes ${header.floor.toFixed(2)} ms.`;
  const how = header.timing && `How the time was measured\n\n${header.timing}${floor}`;
  const text = ms !== null ? `${ms.toFixed(ms < 10 ? 2 : 1)} ms` : untimed ? "–" : "…";
  const of = ms !== null ? ` for ${header.samples} samples` : "";
  return (
    <p data-wb="detail-time" data-tip={untimed || how || undefined}>
      {text}
      {of}
    </p>
  );
}

interface OutputProps {
  output: StepOutputEntry;
  sheet: Sheet<DetailHeader>;
  named: boolean;
}

function Output({ output, sheet, named }: OutputProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pictured = output.box.length === 4;
  useLayoutEffect(() => {
    if (canvas.current) paintPart(canvas.current, sheet.pixels, output.box);
  }, [sheet, pictured]);
  const facts = [
    named && output.name,
    `${output.shape} ${output.dtype}${output.layout ? ` ${output.layout}` : ""}`,
    `on ${output.device.toUpperCase()}`,
    pictured && output.values && `values ${output.values}`,
    output.note,
  ];
  return (
    <div className="wb-detail-output" data-output={output.name}>
      {pictured ? <canvas ref={canvas} aria-hidden="true" /> : <pre>{output.text}</pre>}
      <p>
        {facts.filter(Boolean).map((fact) => (
          <span key={String(fact)}>{fact}</span>
        ))}
      </p>
      {output.histogram && <Histogram of={output.histogram} />}
    </div>
  );
}

const SIZE = { width: 224, height: 48 };
const COLOURS = ["var(--bad)", "var(--gpu)", "var(--cpu)"];

function Histogram({ of: { low, high, channels } }: { of: HistogramValues }) {
  const most = Math.max(1, ...channels.flatMap(({ counts }) => counts));
  const figure = (value: number | null): string => (value === null ? "–" : value.toPrecision(3));
  const told = channels.map(({ mean, deviation }) => `${figure(mean)} ± ${figure(deviation)}`);
  return (
    <figure className="wb-detail-histogram" data-wb="histogram">
      <svg
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        role="img"
        aria-label={`Histogram from ${low} to ${high}; mean ± standard deviation: ${told.join(", ")}`}
      >
        {channels.slice(0, 3).map(({ counts }, at) => (
          <path
            key={at}
            d={outline(counts, most)}
            fill="none"
            stroke={channels.length === 3 ? COLOURS[at] : "var(--ink2)"}
          />
        ))}
      </svg>
      <figcaption>
        <span>{low}</span>
        <span>{high}</span>
      </figcaption>
      <p>mean {told.join(", ")}</p>
    </figure>
  );
}

function outline(counts: readonly number[], most: number): string {
  const step = SIZE.width / counts.length;
  const points = counts.map((count, at) => {
    const y = SIZE.height - 1 - (Math.sqrt(count / most) * (SIZE.height - 2));
    return `${(at * step).toFixed(1)} ${y.toFixed(1)}H${((at + 1) * step).toFixed(1)}`;
  });
  return `M${points.join("L")}`;
}

/** Place the popup next to the card, where the window has room. */
function place(box: HTMLElement, card: HTMLElement | null): void {
  const { clientWidth, clientHeight } = document.documentElement;
  const { offsetWidth: width, offsetHeight: height } = box;
  const at = card?.getBoundingClientRect() ?? { left: 0, right: GAP, top: GAP };
  const right = at.right + GAP;
  const left = right + width + GAP <= clientWidth ? right : Math.max(GAP, at.left - GAP - width);
  box.style.left = `${left}px`;
  box.style.top = `${Math.max(GAP, Math.min(at.top, clientHeight - height - GAP))}px`;
}
