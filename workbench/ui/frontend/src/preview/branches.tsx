// Filter by branch: only samples that ran the selected bodies are shown.

import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import type { Branch, SheetHeader, TileEntry } from "../payloads";
import { GroupedFilter, passes } from "./groupedFilter";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Tiles that are shown. */
  tiles: TileEntry[];
}

const keysOf = ({ branches }: TileEntry): string[] => branches;

/** Return the tiles that ran one of the selected bodies (`shown`) of each block. */
export function ofBranches(tiles: TileEntry[], shown: string[]): TileEntry[] {
  return shown.length ? tiles.filter((tile) => passes(keysOf(tile), shown)) : tiles;
}

/** Return a sample's branches as texts: `branch: then`, `one_of: option_1 (rotate)`. */
export function branchTexts(tile: TileEntry, known: Branch[]): string[] {
  return known.filter(({ scope }) => tile.branches.includes(scope)).map(({ text }) => text);
}

export function BranchFilter({ link, header, tiles }: Props) {
  const shown = useField(link, "shown_branches", []);
  const known = header?.branches ?? [];
  if (!known.length) return null;
  return (
    <GroupedFilter
      {...{ shown, header, tiles, keysOf }}
      noun="branches"
      name="branch"
      choices={known.map(({ scope, block, text }) => ({
        key: scope,
        group: block,
        label: text.slice(block.length + 2),
        text,
      }))}
      choose={(to) => link.set("shown_branches", to)}
    />
  );
}
