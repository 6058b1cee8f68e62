// Line about earlier edits (restored, with a button to undo, or offered), or about data of a shared
// graph that could not be opened.

import { Icon } from "../lib/icons";

import type { RestoredEntry } from "../payloads";

interface Props {
  entry: Partial<RestoredEntry>;
  startAfresh: () => void;
  applyKept: () => void;
  openShared: () => void;
  /** Opens the folder dialog. */
  choose: () => void;
  dismiss: () => void;
}

export function Restored({ entry, dismiss, ...does }: Props) {
  const { text = "", offered = false, choose = false, outside = "" } = entry;
  return (
    <p class="wb-notice wb-bar-restored" role="status" data-wb="restored" hidden={!text}>
      <Icon name={choose ? "warn" : "reset"} size={14} />
      <span>{text}</span>
      {outside && <RestoreButton name="open-shared" label="Open data anyway" tip={outside} run={does.openShared} />}
      {choose && <RestoreButton name="choose-data" label="Choose data" run={does.choose} />}
      {offered && (
        <RestoreButton
          name="apply-kept"
          label="Apply the edits"
          tip="Undo returns to the graph of the cell"
          run={does.applyKept}
        />
      )}
      {!choose && !offered && (
        <RestoreButton
          name="start-afresh"
          label="Start over"
          tip="Show the original graph; undo returns to this one"
          run={does.startAfresh}
        />
      )}
      <button
        class="wb-ico"
        type="button"
        aria-label={choose ? "Close the message" : offered ? "Do not apply" : "Dismiss"}
        data-wb="dismiss"
        onClick={dismiss}
      >
        <Icon name="close" size={13} />
      </button>
    </p>
  );
}

function RestoreButton({ name, label, tip, run }: { name: string; label: string; tip?: string; run: () => void }) {
  return (
    <button class="wb-link" type="button" data-wb={name} data-tip={tip} onClick={run}>
      {label}
    </button>
  );
}
