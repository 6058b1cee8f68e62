// List of samples that are saved with the graph and can be shown again.

import { useRef } from "preact/hooks";
import { IconButton, WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";

export function SavedSamples({ link }: { link: Link<"preview"> }) {
  const draws = useField(link, "saved_draws", []);
  const pop = useRef<HTMLDivElement>(null);
  const replay = (draw: number): void => {
    pop.current!.hidePopover();
    link.ask("replay_draw", { draw });
  };
  const button = {
    class: "wb-ico wb-saved-draws-open",
    "data-wb": "saved-draws",
    "aria-label": draws.length ? `Saved samples: ${draws.length}` : "Saved samples",
    "data-tip": "Save this sample, or show a saved one",
    children: [<Icon name="bookmark" size={13} />, <span>{draws.length || ""}</span>],
  };
  return (
    <span>
      <Popover handle={pop} label="Saved samples" button={button}>
        <div class="wb-saved-draws" role="list" aria-label="Saved samples">
          {draws.map(({ text, note, shown }, index) => (
            <div key={index} role="listitem" data-wb="saved-draw">
              <button
                class="wb-saved-draw-replay"
                type="button"
                aria-current={shown || undefined}
                onClick={() => replay(index)}
              >
                <span>{text}</span>
                {note && <small>{note}</small>}
              </button>
              <IconButton
                label={`Remove ${text}`}
                name="drop"
                onClick={() => link.ask("delete_draw", { draw: index })}
              >
                <Icon name="close" size={11} />
              </IconButton>
            </div>
          ))}
        </div>
        <p class="wb-ask-head" hidden={draws.length > 0}>
          Saved samples are stored with the graph.
        </p>
        <WordButton
          label="Save this sample"
          name="keep"
          hidden={draws.some((draw) => draw.shown && draw.whole)}
          onClick={() => link.ask("save_draw", { sample: -1 })}
        />
      </Popover>
    </span>
  );
}
