// Which augmentations are shown: only the tiles of samples that got one of them are drawn.

import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import type { SheetHeader, TileEntry } from "../payloads";
import { GroupedFilter, passes } from "./groupedFilter";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Those of its tiles that are shown. */
  tiles: TileEntry[];
}

const keysOf = ({ augmentations }: TileEntry): string[] => augmentations;

/** The tiles that got one of the chosen at each node that is named; ``shown`` are `node.name`. */
export function ofAugmentations(tiles: TileEntry[], shown: string[]): TileEntry[] {
  return shown.length ? tiles.filter((tile) => passes(keysOf(tile), shown)) : tiles;
}

export function AugmentationFilter({ link, header, tiles }: Props) {
  const shown = useField(link, "shown_augmentations", []);
  const choices = (header?.augmentations ?? []).map(({ key, node, name }) => ({
    key,
    group: node,
    label: name,
    text: `${node}: ${name}`,
  }));
  return (
    <GroupedFilter
      {...{ choices, shown, header, tiles, keysOf }}
      noun="augmentations"
      name="augmentation"
      choose={(to) => link.set("shown_augmentations", to)}
    />
  );
}
