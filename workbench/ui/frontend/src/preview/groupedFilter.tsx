// Filter of the tiles by grouped keys: bodies of blocks, augmentations of nodes.

import type { ComponentChild } from "preact";
import { IconButton } from "../lib/button";
import { Icon } from "../lib/icons";
import { Popover } from "../lib/popover";
import type { SheetHeader, TileEntry } from "../payloads";

export interface Choice {
  key: string;
  /** Group of the choice. A sample must match one selected choice in each group. */
  group: string;
  label: string;
  /** Text of the choice in the list. */
  text: string;
}

/** Return whether a sample with these keys matches the selected ones. */
export function passes(keys: string[], shown: string[]): boolean {
  return [...groups(shown, groupOf).values()].every((any) => any.some((key) => keys.includes(key)));
}

/** Return the part before the last dot: the block of a body, or the node of an augmentation. */
function groupOf(key: string): string {
  return key.slice(0, key.lastIndexOf("."));
}

function groups<T>(all: T[], groupOfOne: (one: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const each of all) {
    const group = groupOfOne(each);
    found.set(group, [...(found.get(group) ?? []), each]);
  }
  return found;
}

interface Props {
  /** Plural name of the choices: `branches`. */
  noun: string;
  /** Singular name for tests: `branch-filter`. */
  name: string;
  choices: Choice[];
  shown: string[];
  header: SheetHeader | undefined;
  /** Tiles that are shown. */
  tiles: TileEntry[];
  keysOf: (tile: TileEntry) => string[];
  choose: (shown: string[]) => void;
}

export function GroupedFilter(props: Props): ComponentChild {
  const { noun, name, choices, shown, header, tiles, keysOf, choose } = props;
  if (!choices.length && !shown.length) return null;
  const words = header && shown.length ? countsText(header, tiles.length, props) : "";
  const button = {
    class: "wb-shown",
    "data-wb": `${name}-filter`,
    "data-tip": `Filter by ${noun}`,
    children: [
      <span data-wb={`of-${noun}`}>{words || `all ${noun}`}</span>,
      <Icon name="down" size={11} />,
    ],
  };
  return (
    <span
      class={shown.length ? "wb-class-filter" : "wb-class-filter wb-reveal"}
      data-filtered={shown.length ? "true" : undefined}
    >
      <Popover label={`Filter by ${noun}`} align="end" button={button}>
        <div class="wb-class-chooser">
          {[...groups(choices, ({ group }) => group)].map(([group, own]) => (
            <div key={group} role="group" aria-label={group}>
              <b>{group}</b>
              {own.map(({ key, label }) => (
                <label key={key}>
                  <input
                    type="checkbox"
                    data-scope={key}
                    checked={shown.includes(key)}
                    onChange={({ currentTarget: { checked } }) =>
                      choose(checked ? [...shown, key] : shown.filter((each) => each !== key))
                    }
                  />
                  {label}
                  <small>{header && shareText(header, key, keysOf)}</small>
                </label>
              ))}
            </div>
          ))}
        </div>
      </Popover>
      {shown.length > 0 && (
        <IconButton label={`Show all ${noun}`} name={`all-${noun}`} onClick={() => choose([])}>
          <Icon name="close" size={12} />
        </IconButton>
      )}
      <span class="wb-hidden" role="status">
        {words}
      </span>
    </span>
  );
}

function shareText({ tiles }: SheetHeader, key: string, keysOf: Props["keysOf"]): string {
  return `${tiles.filter((tile) => keysOf(tile).includes(key)).length} of ${tiles.length}`;
}

/** Return `4 of 64 in this batch · branch: then`; of a large batch, only shown samples count. */
function countsText({ tiles, of }: SheetHeader, count: number, props: Props): string {
  const { noun, choices, shown } = props;
  const all = tiles.length < of ? `the first ${tiles.length} of ${of}` : String(of);
  const texts = choices.filter(({ key }) => shown.includes(key)).map(({ text }) => text);
  const named = texts.length > 2 ? `${texts.length} ${noun}` : texts.join(", ");
  return `${count} of ${all} in this batch${named && ` · ${named}`}`;
}
