// What is said of a figure in words: that it is partial, and what else is to be known of it.

import type { MeasuredOn } from "../payloads";

export function Notes({ words }: { words: readonly string[] }) {
  return (
    <div>
      {words.map((each) => (
        <p key={each} class="wb-speed-fact">
          {each}
        </p>
      ))}
    </div>
  );
}

/** Of a run that goes on: its figures are not the last. */
export function PartialMark({ all }: { all: readonly MeasuredOn[] }) {
  const words = all.find(({ partial }) => partial)?.partial;
  return (
    <p class="wb-speed-partial" data-wb="partial" hidden={!words}>
      {words}
    </p>
  );
}
