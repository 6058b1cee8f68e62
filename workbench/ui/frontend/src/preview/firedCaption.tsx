// What happened to a sample, below its tile: as much as has room, and how much more there is.

import { Fragment } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Pixels that the words of how many more there are take. */
const MORE = 52;

/** `texts` wrap between each other; those that have no room are counted, and told by the tip. */
export function FiredCaption({ texts }: { texts: string[] }) {
  const box = useRef<HTMLSpanElement>(null);
  const [shown, show] = useState(texts.length);
  useLayoutEffect(() => {
    const el = box.current!;
    const resized = new ResizeObserver(() => show(countThatFit(el)));
    resized.observe(el);
    show(countThatFit(el));
    return () => resized.disconnect();
  }, [texts.join("\n")]);
  const more = texts.length - shown;
  return (
    <span class="wb-fired" ref={box} data-wb="fired">
      {texts.map((text, at) => (
        // Hidden, not gone: where the others stand does not depend on how many are shown.
        <Fragment key={at}>
          {at > 0 && " "}
          <span data-cut={at >= shown || undefined}>{at < texts.length - 1 ? `${text} ·` : text}</span>
        </Fragment>
      ))}
      {more > 0 && (
        <i data-wb="fired-more" aria-hidden="true">
          +{more} more
        </i>
      )}
    </span>
  );
}

/** How many of the texts can be read whole, beside how many more there are if these are not all. */
function countThatFit(el: HTMLElement): number {
  const texts = [...el.querySelectorAll<HTMLElement>(":scope > span")];
  const room = el.clientHeight;
  const ends = texts.map(({ offsetTop, offsetHeight }) => offsetTop + offsetHeight);
  if (!room || (ends.at(-1) ?? 0) <= room + 1) return texts.length;
  const last = Math.max(...ends.filter((end) => end <= room + 1));
  return texts.findIndex(
    ({ offsetLeft, offsetWidth }, at) =>
      ends[at]! > room + 1 ||
      (ends[at] === last && offsetLeft + offsetWidth > el.clientWidth - MORE),
  );
}
