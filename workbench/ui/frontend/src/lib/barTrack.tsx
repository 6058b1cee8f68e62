// Bar of a chart, with overlays.

import type { ComponentChildren } from "preact";

interface Props {
  /** Fraction of the track's width, 0 to 1. */
  share: number;
  tip?: string;
  children?: ComponentChildren;
}

export function BarTrack({ share, tip, children }: Props) {
  return (
    <div class="wb-track" data-tip={tip}>
      <i class="wb-bar-fill" style={{ width: `${share * 100}%` }} />
      {children}
    </div>
  );
}
