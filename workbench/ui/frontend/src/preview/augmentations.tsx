// Filter by augmentation: only samples to which one of them was applied are shown.

import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import type { SheetHeader, TileEntry } from "../payloads";
import { GroupedFilter, passes } from "./groupedFilter";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Tiles that are shown. */
  tiles: TileEntry[];
}

const keysOf = ({ augmentations }: TileEntry): string[] => augmentations;

/** Return the tiles with one of the selected augmentations (`node.name`) of each named node. */
export function withAugmentations(tiles: TileEntry[], shown: string[]): TileEntry[] {
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
