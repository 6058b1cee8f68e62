// Search for the next batch with a sample that passes the filter.

import { IconButton, WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { SheetHeader } from "../payloads";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
}

export function FindBatch({ link, header }: Props) {
  const pinned = useField(link, "pinned", false);
  return (
    <span class="wb-control">
      <IconButton
        label="Previous batch with a match"
        name="find-back"
        disabled={pinned || !header?.batch}
        onClick={() => link.ask("find_batch", { back: true })}
      >
        <Icon name="left" size={13} />
      </IconButton>
      <IconButton
        label="Next batch with a match"
        name="find-next"
        disabled={pinned}
        onClick={() => link.ask("find_batch", { back: false })}
      >
        <Icon name="right" size={13} />
      </IconButton>
    </span>
  );
}

/** Message shown instead of the tiles if no sample of the batch passes the filter. */
export function NoneInBatch({ link, header }: Props) {
  const pinned = useField(link, "pinned", false);
  if (!header) return null;
  const { tiles, of, batch } = header;
  const looked = tiles.length < of ? `the first ${tiles.length} of the ${of} samples` : `the ${of} samples`;
  return (
    <p class="wb-empty" data-wb="none-in-batch">
      {`None of ${looked} of batch ${batch} passes the filter. `}
      {pinned ? (
        "Seed and batch are pinned."
      ) : (
        <WordButton
          label="Find the next batch with a match"
          name="find-one"
          onClick={() => link.ask("find_batch", { back: false })}
        />
      )}
    </p>
  );
}
