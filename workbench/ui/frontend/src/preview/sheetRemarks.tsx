// Line about the pictures: their order, how values are displayed, the repeated photo.

import type { ComponentChildren } from "preact";
import { Icon } from "../lib/icons";
import type { PreviewFields, SheetHeader } from "../payloads";

interface Props {
  header: SheetHeader | undefined;
  mode: PreviewFields["mode"];
  /** True if originals replace all other pictures. */
  originals: boolean;
  manyPhotos: () => void;
  /** Content at the end of the line. */
  children: ComponentChildren;
}

export function SheetRemarks({ header, mode, originals, manyPhotos, children }: Props) {
  const mixed = header?.tiles.some((tile) => tile.original.length && tile.augmented.length);
  const sides = header && (originals ? "originals" : outputRemark(header, mode));
  const note = originals && mixed ? "" : header?.note;
  const words = [note, sides].filter(Boolean).join(" · ");
  return (
    <div class="wb-remarks wb-reveals">
      <button
        class="wb-one"
        type="button"
        data-wb="one"
        data-tip="Back to many photos"
        hidden={!header || header.repeat < 0}
        onClick={manyPhotos}
      >
        <span>
          {header && `${header.tiles.length} random variants of ${header.tiles[0]?.file ?? "one photo"}`}
        </span>
        <Icon name="close" size={10} />
      </button>
      {/* Few lines, so that the pictures hardly move; the tooltip has the full text. */}
      <span class="wb-sheet-note" data-wb="note" data-tip={words || undefined} tabIndex={note ? 0 : -1}>
        {words}
      </span>
      <span class="wb-said">{children}</span>
    </div>
  );
}

/** Return a text on the order of the pictures in a tile. */
function outputRemark(header: SheetHeader, mode: PreviewFields["mode"]): string {
  const { outputs } = header;
  const several = outputs.length > 1;
  switch (mode) {
    case "original":
      return "";
    case "augmented":
      return several ? `${outputs.join(", ")} side by side` : "";
    case "both":
      return several
        ? `original, ${outputs.join(", ")} side by side`
        : "original left, augmented right";
    case "compare":
      return several ? `${outputs.join(", ")} side by side` : "";
    case "difference":
      return difference(header);
  }
}

function difference(header: SheetHeader): string {
  const from = header.outputs.map((output, at) => {
    const base = header.baseline[at];
    return base ? `${output} from ${base}` : `${output}: no step of the same size`;
  });
  return `difference of ${from.join(", ")}; black means identical`;
}
