// A filter of the tiles by what is named in groups: the bodies of blocks, what a node chose.

import type { ComponentChild } from "preact";
import { IconButton } from "../lib/button";
import { Icon } from "../lib/icons";
import { Popover } from "../lib/popover";
import type { SheetHeader, TileEntry } from "../payloads";

export interface Choice {
  key: string;
  /** Of several choices of one group any is enough; each group that is named must agree. */
  group: string;
  label: string;
  /** As it is named beside others. */
  text: string;
}

/** Whether a sample, of which these keys are told, passes the chosen ones. */
export function passes(keys: string[], shown: string[]): boolean {
  return [...groups(shown, groupOf).values()].every((any) => any.some((key) => keys.includes(key)));
}

/** The part before the last dot: the block of a scope, the node of an augmentation. */
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
  /** What is filtered by, in the plural: `branches`. */
  noun: string;
  /** The same in the singular, for tests: `branch-filter`. */
  name: string;
  choices: Choice[];
  shown: string[];
  header: SheetHeader | undefined;
  /** Those of its tiles that are shown. */
  tiles: TileEntry[];
  keysOf: (tile: TileEntry) => string[];
  choose: (shown: string[]) => void;
}

export function GroupedFilter(props: Props): ComponentChild {
  const { noun, name, choices, shown, header, tiles, keysOf, choose } = props;
  if (!choices.length && !shown.length) return null;
  const words = header && shown.length ? counted(header, tiles.length, props) : "";
  const button = {
    class: "wb-shown",
    "data-wb": `${name}-filter`,
    "data-tip": `${capital(noun)} whose samples are shown`,
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
      <Popover label={`${capital(noun)} that are shown`} align="end" button={button}>
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
                  <small>{header && came(header, key, keysOf)}</small>
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

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function came({ tiles }: SheetHeader, key: string, keysOf: Props["keysOf"]): string {
  return `${tiles.filter((tile) => keysOf(tile).includes(key)).length} of ${tiles.length}`;
}

/** `4 of 64 in this batch · branch: then`; of a larger batch only the first are looked at. */
function counted({ tiles, of }: SheetHeader, count: number, props: Props): string {
  const { noun, choices, shown } = props;
  const all = tiles.length < of ? `the first ${tiles.length} of ${of}` : String(of);
  const texts = choices.filter(({ key }) => shown.includes(key)).map(({ text }) => text);
  const named = texts.length > 2 ? `${texts.length} ${noun}` : texts.join(", ");
  return `${count} of ${all} in this batch${named && ` · ${named}`}`;
}
