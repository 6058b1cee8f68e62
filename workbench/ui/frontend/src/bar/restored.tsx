// A line that says what was restored, and undoes it.

import { Icon } from "../lib/icons";

interface Props {
  words: string;
  startAfresh: () => void;
  dismiss: () => void;
}

export function Restored({ words, startAfresh, dismiss }: Props) {
  return (
    <p class="wb-bar-restored" role="status" data-wb="restored" hidden={!words}>
      <Icon name="reset" size={14} />
      <span>{words}</span>
      <button
        class="wb-link"
        type="button"
        data-wb="start-afresh"
        data-tip="Show what was given; undo leads back"
        onClick={startAfresh}
      >
        Start afresh
      </button>
      <button class="wb-ico" type="button" aria-label="Keep it" data-wb="dismiss" onClick={dismiss}>
        <Icon name="close" size={13} />
      </button>
    </p>
  );
}
