// All targets that a graph may be exported to, each with what comes out.

import type { TargetEntry } from "../payloads";
import { Icon } from "./icons";
import { Menu } from "./popover";

interface Props {
  targets: readonly TargetEntry[];
  chosen: string;
  /** Those that cannot hold the graph, and why. */
  refused: Record<string, string>;
  choose: (target: string) => void;
}

export function TargetMenu({ targets, chosen, refused, choose }: Props) {
  return (
    <Menu class="wb-targets">
      {targets.map(({ name, about }) => (
        <button
          key={name}
          type="button"
          role="menuitemradio"
          aria-checked={name === chosen}
          autofocus={name === chosen}
          data-wb="target-row"
          data-name={name}
          data-refused={refused[name] ? "" : undefined}
          data-tip={refused[name]}
          onClick={() => choose(name)}
        >
          <b>
            {name}
            {refused[name] && <Icon name="warn" size={12} />}
          </b>
          <small>{refused[name] ? `Not for this graph. ${refused[name]}` : about}</small>
        </button>
      ))}
    </Menu>
  );
}
