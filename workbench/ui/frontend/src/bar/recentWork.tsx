// List of stored sessions; a copy of the selected one is opened.

import type { RecentEntry } from "../payloads";

interface Props {
  entries: RecentEntry[];
  choose: (owner: string) => void;
}

export function RecentWork({ entries, choose }: Props) {
  return (
    <section>
      <p class="wb-ask-head">Recent work</p>
      <div class="wb-bar-gallery wb-bar-recent" data-wb="recent">
        {entries.map(({ owner, name, when, data, picture, open }) => (
          <button
            key={owner}
            type="button"
            data-wb="recent-entry"
            data-owner={owner}
            onClick={() => choose(owner)}
          >
            {picture ? (
              <img src={picture} alt="" width={384} height={96} />
            ) : (
              <span class="wb-bar-nothing">no preview yet</span>
            )}
            <b>{name || "untitled"}</b>
            <small>{[when, data, open && "open now"].filter(Boolean).join(" · ")}</small>
          </button>
        ))}
      </div>
      <p class="wb-muted" hidden={entries.length > 0}>
        No other sessions yet.
      </p>
    </section>
  );
}
