// Controls in one row, essential ones first. Those that do not fit, and rarely used ones, are in a
// menu at the end.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";
import { Popover } from "./popover";

export interface RowItem {
  id: string;
  content: ComponentChildren;
  /** Narrow form for a row without room for all `essential` controls. */
  compact?: ComponentChildren;
  essential?: boolean;
  /** True to put the item into the menu even if the row has room. Such items are last. */
  tucked?: boolean;
}

/** Width of the menu's button in pixels. */
const BUTTON = 28;

export function OverflowRow({ items, label }: { items: RowItem[]; label: string }) {
  const row = useRef<HTMLDivElement>(null);
  const widths = useRef(new Map<string, number>());
  const [fit, setFit] = useState(items.filter(({ tucked }) => !tucked).length);
  const [narrow, setNarrow] = useState(false);
  const inForm = ({ id, compact }: RowItem, form: boolean): string =>
    form && compact !== undefined ? `${id} compact` : id;
  const measure = (): void => {
    const el = row.current!;
    for (const item of el.querySelectorAll<HTMLElement>(":scope > [data-item]")) {
      widths.current.set(item.dataset["item"]!, item.offsetWidth);
    }
    const { columnGap, paddingLeft, paddingRight } = getComputedStyle(el);
    const room = el.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    if (room <= 0) return; // not on the page
    const gap = parseFloat(columnGap) || 0;
    const offered = items.filter(({ tucked }) => !tucked);
    const each = (form: boolean): number[] =>
      offered.map((item) => widths.current.get(inForm(item, form)) ?? 0);
    const essential = items.filter((item) => item.essential).length;
    const menu = offered.length < items.length;
    const form = countThatFit(each(false), room, gap, menu) < essential;
    setNarrow(form);
    setFit(countThatFit(each(form), room, gap, menu));
  };
  const latest = useRef(measure);
  latest.current = measure;
  // After each rendering: a control may have become wider.
  useLayoutEffect(() => latest.current());
  useLayoutEffect(() => {
    const resized = new ResizeObserver(() => latest.current());
    resized.observe(row.current!);
    return () => resized.disconnect();
  }, []);
  return (
    <div class="wb-controls wb-overflow-row" ref={row}>
      {items.slice(0, fit).map((item) => (
        <span key={item.id} class="wb-control wb-reveals" data-item={inForm(item, narrow)}>
          {narrow ? (item.compact ?? item.content) : item.content}
        </span>
      ))}
      {fit < items.length && (
        <Popover
          label={label}
          align="end"
          button={{
            class: "wb-ico wb-overflow",
            "aria-label": label,
            "data-tip": label,
            "data-wb": "more-controls",
            children: <Icon name="more" size={15} />,
          }}
        >
          <div class="wb-overflow-menu">
            {items.slice(fit).map(({ id, content }) => (
              <span key={id} class="wb-control">
                {content}
              </span>
            ))}
          </div>
        </Popover>
      )}
    </div>
  );
}

/** Return how many leading items fit. With `menu`, its button is shown even if all items fit. */
function countThatFit(widths: number[], room: number, gap: number, menu: boolean): number {
  const ends = widths.reduce<number[]>((all, width) => [...all, (all.at(-1) ?? -gap) + gap + width], []);
  if (!menu && (ends.at(-1) ?? 0) <= room) return widths.length;
  return Math.max(1, ends.filter((end) => end + gap + BUTTON <= room).length);
}
