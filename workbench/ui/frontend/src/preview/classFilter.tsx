// Filter by class: only tiles of the selected classes are shown; the batch is the exported one.

import { IconButton } from "../lib/button";
import { ClassChooser } from "../lib/classChooser";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";
import type { SheetHeader, TileEntry } from "../payloads";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Tiles of the selected classes. */
  tiles: TileEntry[];
}

/** Return the tiles of the selected classes. */
export function ofClasses(tiles: TileEntry[], classes: string[]): TileEntry[] {
  return classes.length ? tiles.filter((tile) => classes.includes(tile.class_name)) : tiles;
}

export function ClassFilter({ link, header, tiles }: Props) {
  const shown = useField(link, "shown_classes", []);
  const known = useField(link, "classes", []);
  const seen = header?.tiles.map((tile) => tile.class_name).filter(Boolean) ?? [];
  const names = [...new Set([...known, ...[...seen].sort(), ...shown])];
  if (!names.length) return null;
  const button = {
    class: "wb-shown",
    "data-wb": "class-filter",
    "data-tip": "Filter by class",
    children: [
      <span data-wb="of-classes">
        {shown.length && header ? countsText(header, tiles.length, shown) : "all classes"}
      </span>,
      <Icon name="down" size={11} />,
    ],
  };
  return (
    <span
      class={shown.length ? "wb-class-filter" : "wb-class-filter wb-reveal"}
      data-filtered={shown.length ? "true" : undefined}
    >
      <Popover label="Filter by class" align="end" button={button}>
        <ClassChooser names={names} shown={shown} choose={(to) => link.set("shown_classes", to)} />
      </Popover>
      {shown.length > 0 && (
        <IconButton
          label="Show all classes"
          name="all-classes"
          onClick={() => link.set("shown_classes", [])}
        >
          <Icon name="close" size={12} />
        </IconButton>
      )}
      <span class="wb-hidden" role="status">
        {shown.length > 0 && header && countsText(header, tiles.length, shown)}
      </span>
    </span>
  );
}

/** Return `4 of 64 in this batch are cat`; of a large batch, only shown samples are counted. */
function countsText({ tiles, of }: SheetHeader, count: number, shown: string[]): string {
  const all = tiles.length < of ? `the first ${tiles.length} of ${of}` : String(of);
  return `${count} of ${all} in this batch ${count === 1 ? "is" : "are"} ${namedShortly(shown)}`;
}

function namedShortly(names: string[]): string {
  return names.length > 2 ? `of ${names.length} classes` : names.join(" or ");
}
