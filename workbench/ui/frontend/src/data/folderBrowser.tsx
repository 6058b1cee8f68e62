// Dialog to open a folder: recent folders, then the contents of a folder.

import type { ComponentProps, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { IconButton } from "../lib/button";
import { Icon } from "../lib/icons";
import { thousands } from "../lib/number";
import { Menu, Popover } from "../lib/popover";
import type { FolderEntry, FolderListing, OpenedData } from "../payloads";

interface Props {
  /** Handle for the caller to open the dialog. */
  handle?: RefObject<HTMLDivElement | null>;
  button: ComponentProps<typeof Popover>["button"];
  folders: Partial<FolderListing>;
  recent: readonly string[];
  data: Partial<OpenedData>;
  /** Lists recent folders. */
  list: () => void;
  look: (path: string) => void;
  open: (path: string) => void;
  /** Opens data outside the allowed folders, after the user has confirmed. */
  confirm: (path: string) => void;
}

export function FolderBrowser(props: Props) {
  const { button, folders, recent, data, list, look } = props;
  const own = useRef<HTMLDivElement>(null);
  const pop = props.handle ?? own;
  const typed = useRef<HTMLInputElement>(null);
  const { path = "", parent = "", places = [], entries = [], more, error } = folders;
  const { refused = "", outside = "" } = data;
  const asked = useRef(false);
  const open = (chosen: string): void => {
    asked.current = true;
    props.open(chosen);
    if (chosen === data.path && !refused) pop.current!.hidePopover(); // nothing else changes then
  };
  const opening = (): void => {
    asked.current = false;
    typed.current!.value = data.path ?? "";
    list();
    look(path);
  };
  // The dialog stays open while there is something to confirm or correct.
  useLayoutEffect(() => {
    if (asked.current && !refused) pop.current!.hidePopover();
  }, [data.path, refused, outside]);
  // Restore the focus, because the focused element was removed with the previous folder.
  useLayoutEffect(() => {
    const card = pop.current!;
    if (!path || !card.matches(":popover-open") || card.querySelector(":focus")) return;
    card.querySelector<HTMLElement>(".wb-folder-row button, [data-wb=open-here]")?.focus();
  }, [path]);
  const others = places.filter((place) => place !== path);
  return (
    <Popover handle={pop} label="Open a folder" opening={opening} button={button}>
      <form
        class="wb-ask"
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = typed.current!.value.trim();
          if (wanted) open(wanted);
        }}
      >
        <input
          ref={typed}
          class="wb-val"
          type="text"
          spellcheck={false}
          aria-label="Path of an image folder or a file list"
          data-wb="folder-typed"
        />
        <button class="wb-btn" type="submit" data-wb="folder-open">
          Open
        </button>
      </form>
      {asked.current && refused && (
        <p class="wb-folder-refused" role="alert" data-wb="folder-refused">
          <Icon name="warn" size={13} />
          <span>{refused}</span>
          {outside && (
            <button
              class="wb-btn"
              type="button"
              data-wb="confirm-folder"
              onClick={() => props.confirm(outside)}
            >
              Open {outside} anyway
            </button>
          )}
        </p>
      )}
      <Menu class="wb-folders">
        {recent.length > 0 && <h3>Recent folders</h3>}
        {recent.map((each) => (
          <button key={each} type="button" data-wb="recent-folder" onClick={() => open(each)}>
            <span>{each}</span>
          </button>
        ))}
        <div class="wb-folders-here">
          <IconButton
            label="Parent folder"
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
              <small>{contentsText(entry)}</small>
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
        {more && <p class="wb-muted">More folders exist. Enter a path to open one.</p>}
        {!entries.length && !error && <p class="wb-muted">No subfolders.</p>}
        {others.length > 0 && <h3>Other locations</h3>}
        {others.map((place) => (
          <button key={place} type="button" onClick={() => look(place)}>
            <span>{place}</span>
          </button>
        ))}
      </Menu>
    </Popover>
  );
}

function contentsText({ images, folders, more }: FolderEntry): string {
  const counts = [countText(images, "image", more), countText(folders, "folder", more)];
  return counts.filter(Boolean).join(", ") || "no images";
}

function countText(count: number, word: string, more: boolean): string {
  if (!count) return "";
  return `${thousands(count)}${more ? "+" : ""} ${word}${count === 1 && !more ? "" : "s"}`;
}
