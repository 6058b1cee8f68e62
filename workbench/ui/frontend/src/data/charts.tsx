// Bar charts of the number of images by class, size and format.

import { useState } from "preact/hooks";
import { BarTrack } from "../lib/barTrack";
import { thousands } from "../lib/number";

const FIRST = 24;

interface Row {
  name: string;
  count: number;
}

interface Props {
  title: string;
  name: string;
  rows: Row[];
  /** Share of each row with the sampler, shown next to its share of the data. */
  sampled?: number[];
  /** Called when a bar is clicked. */
  choose?: (name: string) => void;
  /** Names of the selected bars. */
  chosen?: string[];
}

export function CountChart({ title, name, rows, sampled = [], choose, chosen = [] }: Props) {
  const [all, showAll] = useState(false);
  const most = Math.max(1, ...rows.map(({ count }) => count));
  const more = rows.length - FIRST;
  const sum = rows.reduce((total, { count }) => total + count, 0);
  const shares = sampled.length
    ? rows.map(({ count }, at) => `${percent(count / sum)} → ${percent(sampled[at] ?? 0)}`)
    : [];
  if (!rows.length) return null;
  return (
    <section class="wb-chart" data-wb={name}>
      <h3>{title}</h3>
      <ul aria-label={title}>
        {rows.slice(0, all ? rows.length : FIRST).map((row, at) => (
          <li key={row.name} data-name={row.name} data-count={row.count}>
            {choose ? (
              <button
                type="button"
                aria-pressed={chosen.includes(row.name)}
                data-tip={`Show only samples of ${row.name} in the preview`}
                onClick={() => choose(row.name)}
              >
                <Bar {...row} most={most} shares={shares[at]} />
              </button>
            ) : (
              <Bar {...row} most={most} shares={shares[at]} />
            )}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <button class="wb-link" type="button" aria-expanded={all} onClick={() => showAll(!all)}>
          {all ? "Fewer" : `and ${thousands(more)} more`}
        </button>
      )}
    </section>
  );
}

function percent(share: number) {
  return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
}

function Bar({ name, count, most, shares }: Row & { most: number; shares?: string | undefined }) {
  return (
    <>
      <span class="wb-chart-label">{name}</span>
      <BarTrack share={count / most} />
      <span class="wb-chart-count">{thousands(count)}</span>
      {shares && <span class="wb-chart-shares">{shares}</span>}
    </>
  );
}
