// What stands under every figure: what it was measured on, in a line, and all of it on demand.

import type { MeasuredOn } from "../views";
import { Icon } from "../lib/icons";

export function Provenance({ all }: { all: readonly MeasuredOn[] }) {
  return (
    <div class="wb-speed-on">
      {all.map((on) => (
        <One key={on.id} on={on} named={all.length > 1} />
      ))}
    </div>
  );
}

function One({ on, named }: { on: MeasuredOn; named: boolean }) {
  return (
    <div>
      {on.quick && (
        <p class="wb-speed-fact" data-wb="quick">
          {on.quick}
        </p>
      )}
      {on.earlier && (
        <p class="wb-speed-note" data-wb="earlier">
          <Icon name="warn" size={13} />
          <span>{named ? `${on.name}: ${on.earlier}` : sentence(on.earlier)}</span>
        </p>
      )}
      {on.quality_flags.map((words) => (
        <p key={words} class="wb-speed-note" data-wb="quality-flag">
          <Icon name="warn" size={13} />
          <span>{words}</span>
        </p>
      ))}
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
