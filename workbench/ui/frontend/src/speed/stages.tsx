// Time of a batch by stage: what each stage adds, and the time of each operator alone.

import type { StageEntry, StagesView } from "../payloads";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Effort, Head, StartButton, Unmeasured, type Speed } from "./controls";
import { Notes, PartialMark } from "./notes";
import { isStale, Provenance, QualityFlags, sentence } from "./provenance";
import { Table, Wide } from "./table";

/** Fraction of the width below which a segment has no name. */
const NAME_FROM_SHARE = 0.09;
/** Fraction of the width below which a segment is not drawn. */
const DRAWN_FROM_SHARE = 0.001;

type Show = (node: string) => void;

export function Stages({ link }: { link: Speed }) {
  const view = useField(link, "stages", {}) as Partial<StagesView>;
  const known = !!view.on?.length;
  return (
    <>
      <Head line="The time each stage adds to a batch, the time each operator takes alone, and the maximum speed without reading and decoding.">
        <Effort link={link} usual="Standard" />
        <StartButton
          link={link}
          words="Measure"
          what="stages"
          run={() => link.ask("measure", { what: "stages" })}
        />
      </Head>
      <div data-wb="figure" data-stale={isStale(view.on)} hidden={!known}>
        {known && (
          <Figure view={view as StagesView} show={(node) => link.ask("select", { node })} />
        )}
      </div>
      <Unmeasured link={link} part="stages" hidden={known}>
        Stages are not measured yet. The script is truncated after each stage; the time that a
        stage adds to a batch is its cost.
      </Unmeasured>
    </>
  );
}

function Figure({ view, show }: { view: StagesView; show: Show }) {
  const sum = (values: (number | null)[]): number =>
    values.reduce<number>((all, value) => all + Math.max(0, value ?? 0), 0);
  const most = Math.max(
    view.total,
    sum(view.stages.map(stageTime)),
    sum(view.stages.map(({ alone }) => alone)),
    1e-9,
  );
  const alone = view.stages.filter((stage) => stage.alone !== null);
  const bottleneck = view.bottleneck;
  return (
    <>
      <Verdict view={view} />
      <PartialMark all={view.on} />
      <div class="wb-stacks">
        <Stack
          label="In the pipeline"
          stages={view.stages}
          value={stageTime}
          rest={0}
          {...{ most, bottleneck, show }}
        />
        {alone.length > 0 && (
          <Stack
            label="Each stage alone"
            stages={alone}
            value={(stage) => stage.alone}
            rest={Math.max(0, view.remainder ?? 0)}
            {...{ most, bottleneck, show }}
          />
        )}
      </div>
      <p class="wb-speed-advice" data-wb="advice" hidden={!view.advice}>
        <Icon name="warn" size={14} />
        <span>{sentence(view.advice)}</span>
      </p>
      <p class="wb-speed-sum">
        <StageSum name="whole pipeline" value={view.rate}>
          {view.interval}
        </StageSum>
        <StageSum name="a batch" value={`${ms(view.total)} ms`} />
        {view.ceiling && (
          <StageSum name="ceiling" value={view.ceiling}>
            with the decoded batch cached
          </StageSum>
        )}
      </p>
      <div data-wb="functions">
        <Notes words={view.functions} />
      </div>
      <div data-wb="path">
        <Notes words={view.path.map(sentence)} />
      </div>
      <Notes words={view.notes} />
      <div>
        <Wide label="Stages">
          <Numbers view={view} show={show} />
        </Wide>
      </div>
      <Provenance all={view.on} flagged={false} />
    </>
  );
}

/** The slowest stage, with warnings about the figures. */
function Verdict({ view }: { view: StagesView }) {
  const worst = view.stages.find(({ name }) => name === view.bottleneck);
  const takes = worst && stageTime(worst);
  const share = takes ? `, ${((100 * takes) / view.total).toFixed(0)} %` : "";
  return (
    <div class="wb-stages-verdict" data-wb="verdict">
      <b>
        {worst
          ? `${titleOf(worst)} takes ${ms(takes ?? null)} of ${ms(view.total)} ms${share}`
          : `A batch takes ${ms(view.total)} ms; no bottleneck could be identified`}
      </b>
      <QualityFlags all={view.on} />
    </div>
  );
}

function StageSum({ name, value, children }: { name: string; value: string; children?: string }) {
  return (
    <span>
      {`${name} `}
      <b>{value}</b>
      {children && <small>{` ${children}`}</small>}
    </span>
  );
}

function ms(value: number | null): string {
  if (value === null) return "not measured";
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0).replace("-", "−");
}

/** Return the name of a stage, with its operator if it differs: `color (color_twist)`. */
function titleOf({ name, op }: StageEntry): string {
  return op ? `${name} (${op})` : name;
}

interface StackProps {
  label: string;
  stages: readonly StageEntry[];
  value: (stage: StageEntry) => number | null;
  /** Milliseconds that correspond to the whole width. */
  most: number;
  /** Milliseconds that belong to no stage. */
  rest: number;
  bottleneck: string;
  show: Show;
}

function Stack({ label, stages, value, most, rest, bottleneck, show }: StackProps) {
  const left = `remainder ${ms(rest)} ms`;
  return (
    <div class="wb-stack-row" role="group" aria-label={`${label}, milliseconds`}>
      <span>{label}</span>
      <div class="wb-stack">
        {stages.map((stage, at) => {
          const share = Math.max(0, value(stage) ?? 0) / most;
          if (share <= DRAWN_FROM_SHARE) return null;
          return (
            <Part
              key={stage.name}
              stage={stage}
              spent={ms(value(stage))}
              share={share}
              odd={at % 2 === 1}
              worst={stage.name === bottleneck}
              show={show}
            />
          );
        })}
        {rest / most > DRAWN_FROM_SHARE && (
          <span
            class="wb-stage wb-stage-rest"
            data-tip={`${left}: reading, waiting, data transfer`}
            style={{ width: `${(rest / most) * 100}%` }}
          >
            {rest / most > NAME_FROM_SHARE && (
              <>
                <span>remainder</span>
                <small>{ms(rest)}</small>
              </>
            )}
          </span>
        )}
      </div>
    </div>
  );
}

/** Return the time of a stage, corrected for noise; older records only have differences. */
function stageTime({ exclusive, adds }: StageEntry): number | null {
  return exclusive ?? adds;
}

/** Format the time that a stage adds; a negative time is noise. */
function addedTimeText(adds: number | null): string {
  return adds !== null && adds < 0 ? "not measurable" : ms(adds);
}

interface PartProps {
  stage: StageEntry;
  spent: string;
  share: number;
  odd: boolean;
  worst: boolean;
  show: Show;
}

function Part({ stage, spent, share, odd, worst, show }: PartProps) {
  const { name, node, op, device } = stage;
  const title = titleOf(stage);
  const where = `${device}${worst ? ", the bottleneck" : ""}`;
  return (
    <button
      type="button"
      class="wb-stage"
      data-device={device}
      data-odd={odd || undefined}
      data-worst={worst || undefined}
      data-node={node || undefined}
      data-tip={`${title}: ${spent} ms, ${where}`}
      disabled={!node}
      style={{ width: `${share * 100}%` }}
      onClick={() => show(node)}
    >
      {share > NAME_FROM_SHARE ? (
        <>
          <span>{name}</span>{" "}
          <small>
            {spent}
            <span class="wb-hidden"> ms</span>
            {op && ` · ${op}`}
          </small>
          <span class="wb-hidden">{`, ${where}`}</span>
        </>
      ) : (
        <span class="wb-hidden">{`${title} ${spent} ms, ${where}`}</span>
      )}
    </button>
  );
}

function Numbers({ view, show }: { view: StagesView; show: Show }) {
  /** True if the time of a stage differs from the measured difference. */
  const apart = view.stages.some((stage) => stageTime(stage) !== stage.adds);
  const lines = view.stages.map((stage) => {
    const { name, node, op, kind, device, adds, alone, low, high } = stage;
    const takes = stageTime(stage);
    const claimed = view.bottleneck !== "" && takes !== null && takes >= 0;
    const share = claimed ? `${((100 * takes) / view.total).toFixed(0)} %` : "";
    const spread = low !== null && high !== null && <small>{`${ms(low)} … ${ms(high)}`}</small>;
    const measured = (
      <span>
        {addedTimeText(adds)}
        {spread}
      </span>
    );
    return [
      <span>
        {node ? (
          <button type="button" class="wb-link" data-stage={name} onClick={() => show(node)}>
            {name}
          </button>
        ) : (
          <span data-stage={name}>{name}</span>
        )}
        {op && <small>{op}</small>}
        {name === view.bottleneck && <em>bottleneck</em>}
      </span>,
      kind,
      device,
      <span>
        {addedTimeText(takes)}
        {share && <small>{share}</small>}
        {!apart && spread}
      </span>,
      ...(apart ? [measured] : []),
      kind === "read" || kind === "copy" ? "–" : ms(alone),
    ];
  });
  const heads = ["stage", "operation", "device", "time, ms", ...(apart ? ["measured, ms"] : []), "alone, ms"];
  return (
    <Table caption="Stages" heads={heads} lines={lines}>
      <tfoot>
        <tr>
          <th scope="row">total, and remainder</th>
          <td />
          <td />
          <td>{ms(view.total)}</td>
          {apart && <td />}
          <td>{ms(view.remainder)}</td>
        </tr>
      </tfoot>
      {(view.remainder ?? 0) < 0 && (
        <caption>
          Negative: together, the operators take less time than separately because they run in parallel.
        </caption>
      )}
    </Table>
  );
}
