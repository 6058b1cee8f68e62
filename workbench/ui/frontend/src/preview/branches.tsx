// Which bodies of regions are shown: only the tiles of samples for which these ran are drawn.

import { IconButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";
import type { BranchEntry, SheetHeader, TileEntry } from "../views";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
  /** Those of its tiles that are shown. */
  tiles: TileEntry[];
}

/** The tiles for which of each region one of the chosen bodies ran; ``shown`` are scopes. */
export function ofBranches(tiles: TileEntry[], shown: string[]): TileEntry[] {
  const regions = byRegion(shown, regionOf);
  const passes = ({ branches }: TileEntry): boolean =>
    [...regions.values()].every((scopes) => scopes.some((scope) => branches.includes(scope)));
  return shown.length ? tiles.filter(passes) : tiles;
}

function byRegion<T>(all: T[], regionOfOne: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const each of all) {
    const region = regionOfOne(each);
    found.set(region, [...(found.get(region) ?? []), each]);
  }
  return found;
}

function regionOf(scope: string): string {
  return scope.slice(0, scope.lastIndexOf("."));
}

/** What is said of a sample: `branch: then`, `one_of: option_1 (rotate)`. */
export function branchTexts(tile: TileEntry, known: BranchEntry[]): string[] {
  return known.filter(({ scope }) => tile.branches.includes(scope)).map(({ text }) => text);
}

export function BranchFilter({ link, header, tiles }: Props) {
  const shown = useField(link, "shown_branches", []);
  const known = header?.branches ?? [];
  if (!known.length) return null;
  const words = header && shown.length ? counted(header, tiles.length, known, shown) : "";
  const button = {
    class: "wb-shown",
    "data-wb": "branch-filter",
    "data-tip": "Branches whose samples are shown",
    children: [
      <span data-wb="of-branches">{words || "all branches"}</span>,
      <Icon name="down" size={11} />,
    ],
  };
  return (
    <span class="wb-class-filter" data-filtered={shown.length ? "true" : undefined}>
      <Popover label="Branches that are shown" align="end" button={button}>
        <div class="wb-class-chooser">
          {[...byRegion(known, ({ region }) => region)].map(([region, bodies]) => (
            <div key={region} role="group" aria-label={region}>
              <b>{region}</b>
              {bodies.map(({ scope, text }) => (
                <label key={scope}>
                  <input
                    type="checkbox"
                    data-scope={scope}
                    checked={shown.includes(scope)}
                    onChange={({ currentTarget: { checked } }) =>
                      link.set(
                        "shown_branches",
                        checked ? [...shown, scope] : shown.filter((each) => each !== scope),
                      )
                    }
                  />
                  {text.slice(region.length + 2)}
                  <small>{header && came(header, scope)}</small>
                </label>
              ))}
            </div>
          ))}
        </div>
      </Popover>
      {shown.length > 0 && (
        <IconButton
          label="Show all branches"
          name="all-branches"
          onClick={() => link.set("shown_branches", [])}
        >
          <Icon name="close" size={12} />
        </IconButton>
      )}
      <span class="wb-hidden" role="status">
        {words}
      </span>
    </span>
  );
}

function came({ tiles }: SheetHeader, scope: string): string {
  return `${ofBranches(tiles, [scope]).length} of ${tiles.length}`;
}

/** `4 of 64 in this batch: branch: then`; of a larger batch only the first are looked at. */
function counted(
  { tiles, of }: SheetHeader,
  count: number,
  known: BranchEntry[],
  shown: string[],
): string {
  const all = tiles.length < of ? `the first ${tiles.length} of ${of}` : String(of);
  const texts = known.filter(({ scope }) => shown.includes(scope)).map(({ text }) => text);
  const named = texts.length > 2 ? `${texts.length} branches` : texts.join(", ");
  return `${count} of ${all} in this batch · ${named}`;
}
