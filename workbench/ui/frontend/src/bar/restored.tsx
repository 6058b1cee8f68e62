// A line about earlier edits: restored, with a button that undoes it, or offered.

import { Icon } from "../lib/icons";

import type { RestoredEntry } from "../views";

interface Props {
  entry: Partial<RestoredEntry>;
  startAfresh: () => void;
  applyKept: () => void;
  dismiss: () => void;
}

export function Restored({ entry, startAfresh, applyKept, dismiss }: Props) {
  const { text = "", offered = false } = entry;
  return (
    <p class="wb-notice wb-bar-restored" role="status" data-wb="restored" hidden={!text}>
      <Icon name="reset" size={14} />
      <span>{text}</span>
      {offered ? (
        <button
          class="wb-link"
          type="button"
          data-wb="apply-kept"
          data-tip="Undo returns to the graph of the cell"
          onClick={applyKept}
        >
          Apply the edits
        </button>
      ) : (
        <button
          class="wb-link"
          type="button"
          data-wb="start-afresh"
          data-tip="Show the given graph; undo returns to this one"
          onClick={startAfresh}
        >
          Start afresh
        </button>
      )}
      <button
        class="wb-ico"
        type="button"
        aria-label={offered ? "Do not apply" : "Keep it"}
        data-wb="dismiss"
        onClick={dismiss}
      >
        <Icon name="close" size={13} />
      </button>
    </p>
  );
}
