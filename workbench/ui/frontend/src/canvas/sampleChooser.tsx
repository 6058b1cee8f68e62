// Chooser of the sample on the cards.

import { useCanvasState, useCanvasStore } from "./state/context";
import { Icon } from "../lib/icons";

export function SampleChooser() {
  const store = useCanvasStore();
  const sample = useCanvasState((state) => state.sample);
  const header = useCanvasState((state) => state.sheet?.header);
  if (!header) return null;
  const { samples, file, error, warning } = header;
  const go = (by: number): void => store.choose(sample + by);
  const shown = Math.min(sample, samples - 1);
  return (
    <span className="wb-sample" role="group" aria-label="Sample shown on the cards" data-wb="sample">
      <button
        type="button"
        aria-label="Previous sample"
        data-tip="Previous sample (Page Up)"
        data-wb="sample-back"
        disabled={shown <= 0}
        onClick={() => go(-1)}
      >
        <Icon name="left" size={12} />
      </button>
      <span
        data-wb="sample-shown"
        data-error={error ? true : undefined}
        data-tip={[`Sample ${shown}\n\n${file}`, error || warning].filter(Boolean).join("\n")}
      >
        <span className="wb-word">sample </span>
        {shown}
      </span>
      <button
        type="button"
        aria-label="Next sample"
        data-tip="Next sample (Page Down)"
        data-wb="sample-next"
        disabled={shown >= samples - 1}
        onClick={() => go(1)}
      >
        <Icon name="right" size={12} />
      </button>
    </span>
  );
}
