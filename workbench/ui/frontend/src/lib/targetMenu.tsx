// Export targets: the most used ones, and the others on request or by search.

import { useRef, useState } from "preact/hooks";
import type { TargetEntry } from "../payloads";
import { Icon } from "./icons";
import { Menu } from "./popover";

const MOST_USED = ["script", "pytorch", "lightning", "tensorflow", "jax", "notebook"];

interface Props {
  targets: readonly TargetEntry[];
  chosen: string;
  /** Targets that cannot represent the graph, with reasons. */
  refused: Record<string, string>;
  choose: (target: string) => void;
}

export function TargetMenu({ targets, chosen, refused, choose }: Props) {
  const [all, setAll] = useState(false);
  const [words, setWords] = useState("");
  const menu = useRef<HTMLDivElement>(null);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const used = MOST_USED.flatMap((name) => targets.filter((each) => each.name === name));
  const others = targets.filter(({ name }) => !MOST_USED.includes(name));
  const shown = [...used, ...others].filter(({ name, about }) =>
    wanted.length
      ? wanted.every((word) => `${name} ${about}`.toLowerCase().includes(word))
      : all || MOST_USED.includes(name) || name === chosen,
  );
  const onKey = (event: KeyboardEvent): void => {
    const first = menu.current!.querySelector<HTMLElement>("[data-wb=target-row]");
    if (!first || !["ArrowDown", "Enter"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Enter" && wanted.length) first.click();
    else first.focus();
  };
  return (
    <div class="wb-targets" ref={menu}>
      <input
        class="wb-val"
        type="search"
        autofocus
        autocomplete="off"
        spellcheck={false}
        placeholder="Search the targets"
        aria-label="Search the targets"
        data-wb="target-filter"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
        onKeyDown={onKey}
      />
      <Menu role="menu">
        {shown.map(({ name, about }) => (
          <button
            key={name}
            type="button"
            role="menuitemradio"
            aria-checked={name === chosen}
            data-wb="target-row"
            data-name={name}
            data-refused={refused[name] ? "" : undefined}
            data-tip={refused[name]}
            onClick={() => {
              setWords("");
              choose(name);
            }}
          >
            <b>
              {name}
              {refused[name] && <Icon name="warn" size={12} />}
            </b>
            <small>{refused[name] ? `Not available for this graph. ${refused[name]}` : about}</small>
          </button>
        ))}
      </Menu>
      {!shown.length && <p class="wb-muted">No target matches “{words}”.</p>}
      <button
        class="wb-link"
        type="button"
        data-wb="more-targets"
        aria-expanded={all}
        hidden={wanted.length > 0}
        onClick={() => setAll(!all)}
      >
        {all ? "Fewer targets" : `More targets (${targets.length - shown.length})`}
      </button>
    </div>
  );
}
