// The buttons at the canvas's lower edge.

import { search } from "./state/actions";
import { useCanvasState, useCanvasStore } from "./state/context";
import { showPalette } from "./state/paletteVisibility";
import { SampleChooser } from "./sampleChooser";

/** `keys` is the id of the card of keys. */
export function Footer({ keys }: { keys: string }) {
  const store = useCanvasStore();
  const palette = useCanvasState((state) => state.palette);
  return (
    <div className="wb-canvas-hint">
      <button type="button" data-wb="add" aria-label="Add an operator" onClick={() => search(store)}>
        <kbd>/</kbd> <span className="wb-word">add</span>
      </button>
      <button type="button" data-wb="palette-button" aria-pressed={palette} onClick={() => showPalette(store)}>
        <kbd>p</kbd> <span className="wb-word">palette</span>
      </button>
      <button type="button" data-wb="keys" popoverTarget={keys} aria-haspopup="dialog">
        <kbd>?</kbd> <span className="wb-word">keys</span>
      </button>
      <SampleChooser />
    </div>
  );
}
