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
  /** Called when a bar is clicked; and the selected bars. */
  choose?: (name: string) => void;
  chosen?: string[];
}

export function CountChart({ title, name, rows, choose, chosen = [] }: Props) {
  const [all, showAll] = useState(false);
  const most = Math.max(1, ...rows.map(({ count }) => count));
  const more = rows.length - FIRST;
  if (!rows.length) return null;
  return (
    <section class="wb-chart" data-wb={name}>
      <h3>{title}</h3>
      <ul aria-label={title}>
        {rows.slice(0, all ? rows.length : FIRST).map((row) => (
          <li key={row.name} data-name={row.name} data-count={row.count}>
            {choose ? (
              <button
                type="button"
                aria-pressed={chosen.includes(row.name)}
                data-tip={`Show only samples of ${row.name} in the preview`}
                onClick={() => choose(row.name)}
              >
                <Bar {...row} most={most} />
              </button>
            ) : (
              <Bar {...row} most={most} />
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

function Bar({ name, count, most }: Row & { most: number }) {
  return (
    <>
      <span class="wb-chart-label">{name}</span>
      <BarTrack share={count / most} />
      <span class="wb-chart-count">{thousands(count)}</span>
    </>
  );
}
