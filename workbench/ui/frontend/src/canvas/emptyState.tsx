// Empty canvas: how to start.

import { useCanvasStore, useCanvasState } from "./state/context";
import { search } from "./state/actions";
import { Icon } from "../lib/icons";

const FIRST = "readers.file";

export function EmptyState() {
  const store = useCanvasStore();
  const known = useCanvasState((state) =>
    state.operators.some((op) => op.name === FIRST && !op.unusable),
  );
  return (
    <div className="wb-canvas-empty" data-wb="empty">
      <h3>Start with a reader</h3>
      <p>
        A reader loads the files. Then add a decoder and the image operators.
      </p>
      <div>
        {known && (
          <button
            type="button"
            className="wb-btn"
            data-wb="first"
            data-op={FIRST}
            onClick={() => store.link.ask("add", { op: FIRST, after: "" })}
          >
            <Icon name="folder" /> {FIRST}
          </button>
        )}
        <button
          type="button"
          className="wb-quiet"
          data-wb="first-search"
          onClick={() => search(store)}
        >
          <kbd>/</kbd> find an operator
        </button>
      </div>
      <p>Or open a recipe at the top.</p>
    </div>
  );
}
