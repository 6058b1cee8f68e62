// Caption of a tile with the augmentations applied: as many as fit, and the number of others.

import { Fragment } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** Width in pixels of the number of hidden texts. */
const MORE = 52;

/**
 * `texts` wrap between each other; those that do not fit are counted, and listed in the tooltip.
 */
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
        // Hidden, not removed, so that positions do not depend on the number of shown texts.
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

/** Return the number of texts that fit, with room for the number of hidden ones. */
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
