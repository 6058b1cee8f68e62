// Why what is shown is not of the present graph.

import { Icon } from "./icons";

export function StaleLine({ words, retry }: { words: string; retry?: () => void }) {
  return (
    <p class="wb-stale" role="status" data-wb="stale" hidden={!words}>
      {words && (
        <>
          <Icon name="warn" size={14} />
          <span>{words}</span>
          {retry && (
            <button class="wb-link" type="button" data-wb="retry" onClick={retry}>
              Try again
            </button>
          )}
        </>
      )}
    </p>
  );
}
