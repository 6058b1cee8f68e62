// Folders that may be opened: those used lately, then what lies in a folder.

import { useLayoutEffect, useRef } from "preact/hooks";
import { IconButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { thousands } from "../lib/number";
import { Menu, Popover } from "../lib/popover";
import type { FolderEntry } from "../views";

export function FolderBrowser({ link }: { link: Link<"data"> }) {
  const pop = useRef<HTMLDivElement>(null);
  const { path = "", parent = "", places = [], entries = [], more, error } = useField(
    link,
    "folders",
    {},
  );
  const recent = useField(link, "recent_folders", []);
  const look = (to: string): void => {
    link.ask("browse", { path: to });
  };
  const open = (chosen: string): void => {
    pop.current!.hidePopover();
    link.ask("open", { path: chosen });
  };
  const opening = (): void => {
    link.ask("list_folders", {});
    look(path);
  };
  // What had the focus goes with the folder that is left.
  useLayoutEffect(() => {
    const card = pop.current!;
    if (!path || !card.matches(":popover-open") || card.querySelector(":focus")) return;
    card.querySelector<HTMLElement>(".wb-folder-row button, [data-wb=open-here]")?.focus();
  }, [path]);
  const others = places.filter((place) => place !== path);
  return (
    <Popover
      handle={pop}
      label="Open a folder"
      opening={opening}
      button={{
        class: "wb-quiet",
        "data-wb": "browse",
        children: [<Icon name="folder" size={13} />, " Browse"],
      }}
    >
      <Menu class="wb-folders">
        {recent.length > 0 && <h3>Recent folders</h3>}
        {recent.map((each) => (
          <button key={each} type="button" data-wb="recent-folder" onClick={() => open(each)}>
            <span>{each}</span>
          </button>
        ))}
        <div class="wb-folders-here">
          <IconButton
            label="The folder around this one"
            name="folder-up"
            disabled={!parent}
            onClick={() => look(parent)}
          >
            <Icon name="up" size={13} />
          </IconButton>
          <b data-wb="folder-path">{path}</b>
          <button class="wb-open-folder" type="button" data-wb="open-here" onClick={() => open(path)}>
            Open
          </button>
        </div>
        {error && (
          <p class="wb-input-error" role="alert">
            <Icon name="warn" size={13} />
            {error}
          </p>
        )}
        {entries.map((entry) => (
          <div key={entry.path} class="wb-folder-row" data-folder={entry.name}>
            <button type="button" data-wb="look-into" onClick={() => look(entry.path)}>
              <span>{entry.name}</span>
              <small>{within(entry)}</small>
            </button>
            <button
              class="wb-open-folder"
              type="button"
              aria-label={`Open ${entry.name}`}
              onClick={() => open(entry.path)}
            >
              Open
            </button>
          </div>
        ))}
        {more && <p class="wb-muted">There are more: type the path of one.</p>}
        {!entries.length && !error && <p class="wb-muted">No folder lies in it.</p>}
        {others.length > 0 && <h3>Other places</h3>}
        {others.map((place) => (
          <button key={place} type="button" onClick={() => look(place)}>
            <span>{place}</span>
          </button>
        ))}
      </Menu>
    </Popover>
  );
}

function within({ images, folders, more }: FolderEntry): string {
  const counts = [counted(images, "image", more), counted(folders, "folder", more)];
  return counts.filter(Boolean).join(", ") || "no images";
}

function counted(count: number, word: string, more: boolean): string {
  if (!count) return "";
  return `${thousands(count)}${more ? "+" : ""} ${word}${count === 1 && !more ? "" : "s"}`;
}
