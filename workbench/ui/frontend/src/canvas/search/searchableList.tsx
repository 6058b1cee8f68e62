// Search field with a list of results: for operators, ports and edges.

import type { CSSProperties } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/compat";
import { rank } from "../../lib/ranking";
import { Icon } from "../../lib/icons";
import { PREFIXES, type Item } from "./searchItems";

interface Props {
  title: string;
  placeholder: string;
  /** Subject of the list, shown at the right of the field. */
  where: string;
  items: readonly Item[];
  /** Text for an empty list. */
  empty: string;
  /** Name of an item in tests: `operator`, `choice`. */
  hook: string;
  style: CSSProperties;
  choose: (item: Item) => void;
  /** Item for the typed text itself, listed before the results. */
  typed?: (text: string) => Item;
  /** True to keep results in groups; otherwise the best result of all groups is first. */
  grouped?: boolean;
  /** Called with the results, best first. */
  onFound?: (found: readonly Item[]) => void;
  /** Return whether the order of the results may still change, so that Enter must wait. */
  isPending?: (found: readonly Item[]) => boolean;
  /** Called when Delete is pressed on an item. */
  cut?: (item: Item) => void;
  close: () => void;
}

const REPLACES = "Replaces the graph; undo restores it. Press Enter or click again to confirm.";
/** Number of items that are rendered at first; more are added while scrolling. */
const SHOWN = 80;

function find(items: readonly Item[], query: string, grouped: boolean): Item[] {
  const found = rank(items, query);
  if (grouped || !query) {
    const order = [...new Set(items.map(({ group }) => group))];
    const place = ({ reason, fix, group }: Item): number =>
      order.length * (reason ? 2 : fix ? 1 : 0) + order.indexOf(group);
    found.sort((a, b) => place(a) - place(b));
  }
  const last = ({ id, replaces, reason }: Item): number =>
    Number(!reason && !!replaces && id.startsWith(PREFIXES.recipe));
  // Recipes that replace the graph are last.
  const fits = found.filter(({ reason }) => !reason).sort((a, b) => last(a) - last(b));
  return [...fits, ...found.filter(({ reason }) => reason)];
}

export function SearchableList({
  title,
  placeholder,
  where,
  items,
  empty,
  hook,
  style,
  grouped = false,
  typed,
  onFound,
  isPending,
  choose,
  cut,
  close,
}: Props) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState("");
  const [shown, setShown] = useState(SHOWN);
  /** Id of the item that was selected once and replaces the graph if selected again. */
  const [confirmed, setConfirmed] = useState("");
  /** True if Enter was pressed before the final order was known. */
  const [entered, setEntered] = useState(false);
  const pop = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const prefix = useId();
  const found = useMemo(() => {
    const text = query.trim();
    const finds = find(items, text, grouped);
    return typed && text ? [typed(text), ...finds] : finds;
  }, [items, query, grouped, typed]);
  useEffect(() => onFound?.(found), [found, onFound]);
  const more = (): void => setShown((count) => Math.min(count, found.length) + SHOWN);
  const active = Math.max(
    0,
    found.findIndex((item) => item.id === chosen),
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
    if (!item || item.reason) return;
    if (item.replaces && confirmed !== item.id) {
      setChosen(item.id);
      setConfirmed(item.id);
    } else choose(item);
  };
  useEffect(() => {
    if (!entered || isPending?.(found)) return;
    setEntered(false);
    take(found[active]);
  }, [entered, found, isPending]);
  const key = (event: KeyboardEvent): void => {
    event.stopPropagation();
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[event.key];
    if (by) {
      const at = Math.min(Math.max(active + by, 0), found.length - 1);
      if (at >= shown - 1) more();
      setChosen(found[at]?.id ?? "");
    } else if (event.key === "Enter" && !event.repeat) {
      if (!chosen && isPending?.(found)) setEntered(true);
      else take(found[active]);
    } else if (event.key === "Delete" && cut && found[active] && !query) cut(found[active]);
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
          spellcheck={false}
          autocomplete="off"
          placeholder={placeholder}
          aria-label={placeholder}
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${prefix}list`}
          aria-activedescendant={found.length ? `${prefix}${active}` : undefined}
          data-wb="search"
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value);
            setChosen("");
            setConfirmed("");
            setEntered(false);
            setShown(SHOWN);
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
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          if (shown < found.length && scrollTop + 2 * clientHeight > scrollHeight) more();
        }}
      >
        {found.slice(0, shown).map((item, index) => {
          const apart = item.reason || item.fix || item.replaces || group;
          const own = grouped || !query.trim() || apart ? item.group : "";
          const head = own !== group && own;
          group = own;
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
                aria-setsize={found.length}
                aria-posinset={index + 1}
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
                {item.fix && (
                  <span className="wb-option-fix" data-wb="fix">
                    <Icon name="plus" size={11} /> {item.fix}
                  </span>
                )}
                <small>
                  {item.reason || (confirmed === item.id && REPLACES) || item.note}
                </small>
              </div>
            </div>
          );
        })}
      </div>
      {found.length === 0 && (
        <p className="wb-search-none">{query ? `No results for “${query}”.` : empty}</p>
      )}
    </div>
  );
}
