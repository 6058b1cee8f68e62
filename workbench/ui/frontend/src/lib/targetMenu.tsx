// All targets that a graph may be exported to, each with what comes out.

import type { TargetEntry } from "../views";
import { Menu } from "./popover";

interface Props {
  targets: readonly TargetEntry[];
  chosen: string;
  choose: (target: string) => void;
}

export function TargetMenu({ targets, chosen, choose }: Props) {
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
          onClick={() => choose(name)}
        >
          <b>{name}</b>
          <small>{about}</small>
        </button>
      ))}
    </Menu>
  );
}
