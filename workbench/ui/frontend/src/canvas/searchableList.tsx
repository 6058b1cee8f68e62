// A field and the list of what it finds: for operators, for ports, for edges.

import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { score, type Place } from "../lib/fuzzy";
import { Icon } from "./icons";

export interface Item {
  id: string;
  name: string;
  /** Small signs at the right: kinds, devices. */
  chips: readonly string[];
  note: string;
  group: string;
  /** Why it cannot be chosen; empty where it can. */
  reason: string;
  /** Where a query finds it, the best place first. */
  places: readonly Place[];
}

interface Props {
  title: string;
  placeholder: string;
  /** What the list is about, at the right of the field. */
  where: string;
  items: readonly Item[];
  /** Said where there is nothing at all. */
  empty: string;
  /** What stands for one item in the tests: `operator`, `choice`. */
  hook: string;
  style: React.CSSProperties;
  choose: (item: Item) => void;
  /** What Delete does to an item, where it does anything. */
  cut?: (item: Item) => void;
  close: () => void;
}

const SHOWN = 200;

function find(items: readonly Item[], query: string): Item[] {
  const order = [...new Set(items.map((item) => item.group))];
  const ranked = items
    .map((item) => ({ item, rank: query ? score(query, item.places) : 1 }))
    .filter(({ rank }) => rank > 0);
  if (query) ranked.sort((a, b) => b.rank - a.rank);
  const group = ({ item }: { item: Item }): number => order.indexOf(item.group);
  ranked.sort((a, b) => group(a) - group(b));
  return ranked.slice(0, SHOWN).map(({ item }) => item);
}

export function SearchableList({
  title,
  placeholder,
  where,
  items,
  empty,
  hook,
  style,
  choose,
  cut,
  close,
}: Props) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState("");
  const pop = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const found = useMemo(() => find(items, query.trim()), [items, query]);
  const active = Math.max(
    0,
    found.findIndex((item) => (chosen ? item.id === chosen : !item.reason)),
  );

  useLayoutEffect(() => {
    pop.current?.showPopover();
    pop.current?.querySelector("input")?.focus();
  }, []);
  useEffect(() => {
    if (chosen)
      list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    else list.current?.scrollTo(0, 0);
  }, [active, chosen, query]);

  const take = (item: Item | undefined): void => {
    if (item && !item.reason) choose(item);
  };
  const key = (event: React.KeyboardEvent): void => {
    event.stopPropagation();
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    if (by) setChosen(found[Math.min(Math.max(active + by, 0), found.length - 1)]?.id ?? "");
    else if (event.key === "Enter") take(found[active]);
    else if (event.key === "Delete" && cut && found[active] && !query) cut(found[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  let group = "";
  return (
    <div
      ref={pop}
      className="wb-pop wb-search nowheel nokey"
      popover="auto"
      role="dialog"
      aria-label={title}
      style={style}
      onToggle={(event) => event.newState === "closed" && close()}
      onKeyDown={key}
    >
      <div className="wb-search-head">
        <Icon name="search" size={15} />
        <input
          type="text"
          role="combobox"
          spellCheck={false}
          autoComplete="off"
          placeholder={placeholder}
          aria-label={placeholder}
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${prefix}list`}
          aria-activedescendant={found.length ? `${prefix}${active}` : undefined}
          data-wb="search"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setChosen("");
          }}
        />
        <small>{where}</small>
      </div>
      <div
        ref={list}
        className="wb-search-list"
        role="listbox"
        id={`${prefix}list`}
        aria-label={title}
        tabIndex={-1}
      >
        {found.map((item, index) => {
          const head = item.group !== group && item.group;
          group = item.group;
          return (
            <div key={item.id} role="presentation">
              {head && (
                <h4 role="presentation" data-wb="group">
                  {head}
                </h4>
              )}
              <div
                id={`${prefix}${index}`}
                className="wb-option"
                role="option"
                aria-selected={index === active}
                aria-disabled={item.reason ? true : undefined}
                data-wb={hook}
                data-op={item.id}
                onClick={() => take(item)}
              >
                <b>{item.name}</b>
                <span className="wb-option-chips">
                  {item.chips.map((chip) => (
                    <i key={chip}>{chip}</i>
                  ))}
                </span>
                <small>{item.reason || item.note}</small>
              </div>
            </div>
          );
        })}
      </div>
      {found.length === 0 && (
        <p className="wb-search-none">{query ? `Nothing is like “${query}”.` : empty}</p>
      )}
    </div>
  );
}
