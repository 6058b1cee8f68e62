// Scaling of imgs/s with threads, pipelines, and GPUs with a process and a data shard each.

import { useState } from "preact/hooks";
import type { ScalingPoint, ScalingView } from "../payloads";
import { useField } from "../lib/hooks";
import { rateFigure, rateUnit } from "../lib/number";
import { Segmented } from "../lib/segmented";
import { Effort, Head, StartButton, Unmeasured, type Speed } from "./controls";
import { PartialMark } from "./notes";
import { isStale, Provenance } from "./provenance";
import { Table, Wide } from "./table";

const WIDE = 560;
const TALL = 230;
const LEFT = 52;
const BOTTOM = 30;
const TOP = 12;
const RIGHT = 62;

export function Scaling({ link }: { link: Speed }) {
  const [over, choose] = useState("threads");
  const why = useField(link, "limits", {}).workers ?? "";
  const view = useField(link, "scaling", {}) as Partial<ScalingView>;
  const known = !!view.on?.length;
  return (
    <>
      <Head line="Throughput of the whole pipeline by number of threads, pipelines, or GPUs.">
        <Segmented
          label="Scale by"
          choices={[
            { id: "threads", label: "Threads" },
            { id: "pipelines", label: "Pipelines" },
            { id: "workers", label: "GPUs", disabled: why },
          ]}
          chosen={over}
          choose={choose}
        />
        <Effort link={link} />
        <StartButton link={link} words="Measure" what={over} run={() => link.ask("measure", { what: over })} />
      </Head>
      <div data-wb="figure" data-stale={isStale(view.on)} hidden={!known}>
        {known && <Figure view={view as ScalingView} />}
      </div>
      <Unmeasured link={link} part="scaling" hidden={known}>
        Not measured yet. Measure runs the pipeline with 1, 2, 4, … threads up to the number of
        cores, or with 1 to 4 parallel pipelines, in alternating rounds.
      </Unmeasured>
      <p class="wb-speed-fact" data-wb="no-gpus" hidden={!why}>
        {`GPUs: ${why}.`}
      </p>
    </>
  );
}

function Figure({ view }: { view: ScalingView }) {
  const lines = view.points.map((point) =>
    point.median === null
      ? [countText(point), point.reason, "", "", ""]
      : [
          countText(point),
          point.figure,
          point.interval,
          `${point.speedup} ×`,
          point.efficiency,
        ],
  );
  const heads = [view.unit, rateUnit(view.frames), "interval", "speed-up", "efficiency"];
  return (
    <>
      <PartialMark all={view.on} />
      <div class="wb-speed-pair">
        <div class="wb-chart">
          <Chart view={view} />
        </div>
        <div>
          <Wide label="Scaling">
            <Table caption="Scaling" heads={heads} lines={lines} />
          </Wide>
        </div>
      </div>
      <Provenance all={view.on} />
    </>
  );
}

/** Return the count, `2`, or `2 × 1 pipeline` if several numbers of pipelines were measured. */
function countText(point: ScalingPoint): string {
  return point.pipelines ? `${point.count} × ${pipelines(point)}` : String(point.count);
}

function pipelines(point: ScalingPoint): string {
  return `${point.pipelines} pipeline${point.pipelines === 1 ? "" : "s"}`;
}

type Measured = ScalingPoint & { median: number };

function Chart({ view }: { view: ScalingView }) {
  const points = view.points.filter((point): point is Measured => point.median !== null);
  const most = Math.max(1, ...points.map((point) => point.high ?? point.median));
  const last = Math.max(1, ...points.map((point) => point.count));
  const first = points[0];
  const top = first ? Math.min(most * 1.25, Math.max(most, (first.median * last) / first.count)) : most;
  const x = (count: number): number => LEFT + (count / last) * (WIDE - LEFT - RIGHT);
  const y = (rate: number): number =>
    TALL - BOTTOM - (Math.min(rate, top) / top) * (TALL - BOTTOM - TOP);
  const said = points
    .map((p) => `${countText(p)} ${view.unit}: ${p.figure} ${rateUnit(view.frames)}`)
    .join("; ");
  const alike = (at: number): boolean => points[at]?.pipelines === points[at + 1]?.pipelines;
  const line = points
    .map((p, at) => `${at && alike(at - 1) ? "L" : "M"}${x(p.count)} ${y(p.median)}`)
    .join("");
  const each = first ? first.median / first.count : 0;
  const till = first ? Math.min(last, top / each) : 0;
  return (
    <svg
      viewBox={`0 0 ${WIDE} ${TALL}`}
      role="img"
      data-kind={view.kind}
      aria-label={said || "nothing was measured"}
    >
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <path class="wb-grid" d={`M${LEFT} ${y(share * top)}H${WIDE - RIGHT}`} />
          <text x={LEFT - 8} y={y(share * top) + 3.5} text-anchor="end">
            {rateFigure(share * top, view.frames)}
          </text>
        </g>
      ))}
      {first && (
        <g>
          <path class="wb-ideal" d={`M${x(0)} ${y(0)}L${x(till)} ${y(each * till)}`} />
          <text x={x(till) + 6} y={y(each * till) + 9} text-anchor="start">
            linear
          </text>
        </g>
      )}
      <path class="wb-line" d={line} />
      {points.map((point, place) => {
        const [low, high] = [y(point.low ?? point.median), y(point.high ?? point.median)];
        const at = x(point.count);
        return (
          <g key={place}>
            {point.pipelines > 0 && !alike(place) && (
              <text x={at - 6} y={Math.max(y(point.median) - 9, TOP)} text-anchor="end">
                {pipelines(point)}
              </text>
            )}
            <path
              class="wb-error"
              d={`M${at} ${low}V${high}M${at - 4} ${low}h8M${at - 4} ${high}h8`}
            />
            <circle cx={at} cy={y(point.median)} r={3.5} />
            <text x={at} y={TALL - BOTTOM + 16} text-anchor="middle">
              {point.count}
            </text>
          </g>
        );
      })}
      <text x={(LEFT + WIDE - RIGHT) / 2} y={TALL - 1} text-anchor="middle">
        {view.unit}
      </text>
    </svg>
  );
}
