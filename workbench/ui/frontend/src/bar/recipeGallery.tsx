// Graphs to start from: an empty one, and the recipes with their pictures.

import type { TargetedKeyboardEvent } from "preact";
import { useRef } from "preact/hooks";
import type { RecipeEntry } from "../payloads";
import { Icon } from "../lib/icons";
import { Popover } from "../lib/popover";

interface Props {
  recipes: RecipeEntry[];
  choose: (recipe: string) => void;
  startEmpty: () => void;
}

export function RecipeGallery({ recipes, choose, startEmpty }: Props) {
  const pop = useRef<HTMLDivElement>(null);
  const close = (then: () => void) => (): void => {
    pop.current!.hidePopover();
    then();
  };
  return (
    <Popover
      handle={pop}
      label="Recipes"
      align="end"
      button={{ class: "wb-link", "data-wb": "recipes", children: "Recipes" }}
    >
      <div class="wb-bar-gallery" onKeyDown={moveFocus}>
        <button type="button" autofocus data-wb="new" onClick={close(startEmpty)}>
          <span class="wb-bar-nothing">
            <Icon name="plus" size={18} />
          </span>
          <b>Empty graph</b>
          <small>Start from scratch and add operators.</small>
        </button>
        {recipes.map(({ name, line, picture }) => (
          <button
            key={name}
            type="button"
            data-wb="recipe"
            data-name={name}
            onClick={close(() => choose(name))}
          >
            {picture && <img src={picture} alt="" width={384} height={96} />}
            <b>{name}</b>
            <small>{line}</small>
          </button>
        ))}
      </div>
    </Popover>
  );
}

function moveFocus(event: TargetedKeyboardEvent<HTMLElement>): void {
  const cards = [...event.currentTarget.querySelectorAll("button")];
  const at = cards.findIndex((card) => card.matches(":focus"));
  const across = cards.filter((card) => card.offsetTop === cards[0]?.offsetTop).length;
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
  const to = event.key === "Home" ? 0 : event.key === "End" ? -1 : by && at + by;
  if (to === undefined || to >= cards.length || (by && to < 0)) return;
  event.preventDefault();
  cards.at(to)?.focus();
}
