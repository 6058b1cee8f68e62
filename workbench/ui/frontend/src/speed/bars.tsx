// Bar per measured configuration, with its confidence interval and the spread of its rounds.

import type { CompareView, RatioEntry, SpeedBar } from "../payloads";
import { BarTrack } from "../lib/barTrack";
import { Icon } from "../lib/icons";
import { rateFigure, rateUnit } from "../lib/number";
import { Notes, PartialMark } from "./notes";
import { isStale, Provenance, QualityFlags } from "./provenance";
import { Table, Wide } from "./table";

/** `stated` is a reason for missing results that is already shown next to the bars. */
export function Bars({ on = [], bars = [], ratios = [], advice = [], notes = [], stated = "" }: Partial<CompareView> & { stated?: string }) {
  const tops = bars.flatMap((bar) => [bar.high ?? bar.median ?? 0, ...bar.rounds]);
  const most = Math.max(1, ...tops) * 1.01; // so that the last whisker is not clipped
  const several = new Set(bars.map((bar) => bar.settings)).size > 1;
  const names = [...new Set(bars.map((bar) => bar.group))];
  return (
    <div data-wb="figure" data-bars={bars.length} data-stale={isStale(on)} hidden={!on.length}>
      <PartialMark all={on} />
      <QualityFlags all={on} />
      <div class="wb-speed-groups">
        {names.map((name) => (
          <section key={name} class="wb-speed-group">
            <header>
              <h3>{name}</h3>
              <div>
                {ratios
                  .filter((ratio) => ratio.group === name)
                  .map((ratio) => (
                    <Ratio key={ratio.text} {...ratio} />
                  ))}
              </div>
            </header>
            <ol class="wb-bars" aria-label={`${name}, ${rateUnit(bars[0]?.frames ?? 0)}`}>
              {bars
                .filter((bar) => bar.group === name)
                .map((bar, at) => (
                  <Bar key={at} bar={bar} most={most} withSettings={several} stated={stated} />
                ))}
            </ol>
          </section>
        ))}
      </div>
      {advice.map((words) => (
        <p key={words} class="wb-speed-advice" data-wb="advice">
          <Icon name="warn" size={14} />
          <span>{words}</span>
        </p>
      ))}
      <Notes words={notes} />
      <Provenance all={on} flagged={false} />
      <Numbers bars={bars} />
    </div>
  );
}

function Numbers({ bars }: { bars: readonly SpeedBar[] }) {
  const measured = bars.filter((bar) => bar.facts.length);
  const heads = measured[0]?.facts.map((fact) => fact.name) ?? [];
  const lines = measured.map((bar) => [
    [bar.label, bar.group.toLowerCase(), bar.source].filter(Boolean).join(", "),
    bar.settings,
    ...bar.facts.map((fact) => fact.value),
  ]);
  return (
    <details class="wb-fold wb-speed-fold" data-wb="table" hidden={!measured.length}>
      <summary>All values as a table</summary>
      <div>
        <Wide label="All values">
          <Table caption="All values" heads={["configuration", "settings", ...heads]} lines={lines} />
        </Wide>
      </div>
    </details>
  );
}

function Ratio({ text, interval }: RatioEntry) {
  return (
    <p class="wb-verdict" data-wb="ratio">
      {text}
      <small>{interval}</small>
    </p>
  );
}

interface BarProps {
  bar: SpeedBar;
  most: number;
  withSettings: boolean;
  stated: string;
}

function Bar({ bar, most, withSettings, stated }: BarProps) {
  const { label, kind, median, source, settings, notes, flags, uncertainty } = bar;
  const unstable = flags.some((flag) => flag.startsWith("unstable")) && "unstable";
  const small = [source, withSettings && settings, ...notes].filter(Boolean).join(" · ");
  return (
    <li
      class="wb-speed-row"
      data-wb="speed-row"
      data-kind={kind}
      data-median={median ?? undefined}
      data-reason={median === null || undefined}
    >
      <span class="wb-speed-label">{label}</span>
      {median === null ? (
        <div class="wb-track">
          <span class="wb-reason">
            <Icon name="warn" size={13} />
            <span>{stated && bar.reason.endsWith(stated) ? "not measured" : bar.reason || "not measured"}</span>
          </span>
        </div>
      ) : (
        <Track bar={bar} median={median} most={most} />
      )}
      {median === null ? (
        <span class="wb-figure">no value</span>
      ) : (
        <span class="wb-figure">
          <b>{bar.figure}</b> {rateUnit(bar.frames)}
          {bar.frame_rate && <small>{bar.frame_rate}</small>}
          <small>{bar.interval}</small>
        </span>
      )}
      {small && <small class="wb-speed-under">{small}</small>}
      {flags.length > 0 && (
        <p class="wb-speed-flags" data-tip={flags.join("\n")}>
          <Icon name="warn" size={12} />
          {[unstable, uncertainty].filter(Boolean).join("; ") || "with a warning"}
        </p>
      )}
    </li>
  );
}

function Track({ bar, median, most }: { bar: SpeedBar; median: number; most: number }) {
  const share = (value: number): string => `${(value / most) * 100}%`;
  const [low, high] = [bar.low ?? median, bar.high ?? median];
  const { frames } = bar;
  const each = bar.rounds.slice(0, 40).map((round) => rateFigure(round, frames));
  const rounds = `${each.join(", ")} ${rateUnit(frames)}`;
  return (
    <BarTrack
      share={median / most}
      tip={`Median of ${bar.rounds.length} round${bar.rounds.length === 1 ? "" : "s"}\n\n${rounds}`}
    >
      {bar.rounds.map((round, at) => (
        <i key={at} class="wb-round" style={{ left: share(round) }} />
      ))}
      <i class="wb-whisker" style={{ left: share(low), width: share(high - low) }} />
    </BarTrack>
  );
}
