// Remarks on results, for example that they are partial.

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

/** Marks the figures of a running measurement. */
export function PartialMark({ all }: { all: readonly MeasuredOn[] }) {
  const words = all.find(({ partial }) => partial)?.partial;
  return (
    <p class="wb-speed-partial" data-wb="partial" hidden={!words}>
      {words}
    </p>
  );
}
