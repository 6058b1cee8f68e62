// Line below every figure: conditions of the measurement, with details on demand.

import { Fragment } from "preact";
import type { MeasuredOn } from "../payloads";
import { Icon } from "../lib/icons";

interface Props {
  all: readonly MeasuredOn[];
  /** True to show warnings here; otherwise they are next to the headline. */
  flagged?: boolean;
}

export function Provenance({ all, flagged = true }: Props) {
  return (
    <div class="wb-speed-on">
      {flagged && <QualityFlags all={all} />}
      {all.map((on) => (
        <Machine key={on.id} on={on} named={all.length > 1} />
      ))}
    </div>
  );
}

/** Return "true" if results belong to another graph or other data; undefined if not. */
export function isStale(all: readonly MeasuredOn[] = []): "true" | undefined {
  return all.some(({ earlier }) => earlier) ? "true" : undefined;
}

/** Warnings about results: measured quickly, for an earlier graph, or on a busy machine. */
export function QualityFlags({ all }: { all: readonly MeasuredOn[] }) {
  const named = all.length > 1;
  return (
    <>
      {all.map(({ id, name, quick, earlier, quality_flags: flags }) => (
        <Fragment key={id}>
          {quick && (
            <p class="wb-speed-fact" data-wb="quick">
              {quick}
            </p>
          )}
          {earlier && (
            <p class="wb-speed-note" data-wb="earlier">
              <Icon name="warn" size={13} />
              <span>{named ? `${name}: ${earlier}` : sentence(earlier)}</span>
            </p>
          )}
          {flags.map((words) => (
            <p key={words} class="wb-speed-note" data-wb="quality-flag">
              <Icon name="warn" size={13} />
              <span>{words}</span>
            </p>
          ))}
        </Fragment>
      ))}
    </>
  );
}

function Machine({ on, named }: { on: MeasuredOn; named: boolean }) {
  return (
    <div>
      <details class="wb-on" data-wb="measured-on">
        <summary>
          {named && <b>{`${on.name} `}</b>}
          {on.line}
        </summary>
        <dl>
          {on.facts.map(({ name, value }) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  );
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
