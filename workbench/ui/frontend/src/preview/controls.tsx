// Controls of the preview: mode, batch, random values, and verification of the export.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { RandomIcon, Icon } from "../lib/icons";
import { Notice } from "../lib/notice";
import { NumberField, UNBOUNDED } from "../lib/numberInputs";
import type { Link } from "../lib/link";
import { OverflowRow } from "../lib/overflowRow";
import { Popover } from "../lib/popover";
import { Segmented } from "../lib/segmented";
import type { PreviewFields } from "../payloads";
import { SavedSamples } from "./savedSamples";

const USUAL_MODES = [
  { id: "original", label: "Original" },
  { id: "augmented", label: "Augmented" },
  { id: "both", label: "Both" },
];
const MORE_MODES = [
  { id: "difference", label: "Difference" },
  { id: "compare", label: "Compare" },
];
const MODES = [...USUAL_MODES, ...MORE_MODES];
const ALL_TILES_TIP = "Applies to all tiles. A close-up shows one picture, selected below.";
const SEEDS = 100_000;
const SHUFFLE_TIP =
  "The reader shuffles, so a new seed also selects other photos. To keep the current photos, pin " +
  "seed and batch, or use the dice on a tile.";
const PINNED_TIP =
  "Seed and batch are pinned\n\nAll differences you see come from your edits.";
const PIN_TIP = "Pin seed and batch\n\nThey stay the same while you change values.";

type Numbered = "batch" | "seed";

interface Props {
  link: Link<"preview">;
  /** Whether a close-up is open. */
  near: boolean;
  /** Whether originals are shown while a button or key is held. */
  showingOriginal: boolean;
  hold: (on: boolean) => void;
}

export function Controls({ link, near, showingOriginal, hold }: Props) {
  const mode = useField(link, "mode", "both");
  const batch = useField(link, "batch", 0);
  const pinned = useField(link, "pinned", false);
  const more = useField(link, "shuffles", false) ? SHUFFLE_TIP : "";
  const [reasons, setReasons] = useState({ batch: "", seed: "" });
  const refuse = (name: Numbered, reason: string): void =>
    setReasons((last) => ({ ...last, [name]: reason }));
  const turn = (by: number): void => link.set("batch", Math.max(0, batch + by));
  const field = { link, refuse, pinned };
  const menu = useRef<HTMLDivElement>(null);
  const choices = (some: typeof MODES) => (
    <Segmented
      label="Preview mode"
      choices={some.map((each) => ({ ...each, disabled: near ? ALL_TILES_TIP : "" }))}
      chosen={mode}
      choose={(id) => link.set("mode", id as PreviewFields["mode"])}
    />
  );
  /** Return content on which a click closes the menu of the row. */
  const closing = (content: ComponentChildren) => (
    <span onClick={({ currentTarget }) => currentTarget.closest<HTMLElement>("[popover]")!.hidePopover()}>
      {content}
    </span>
  );
  const chosen = MODES.find(({ id }) => id === mode)?.label ?? mode;
  const unusual = MORE_MODES.filter(({ id }) => id === mode);
  /** All modes behind a button. Arrow keys select too, and leave the menu open. */
  const compactModes = (
    <Popover
      handle={menu}
      label="Preview mode"
      button={{
        class: "wb-val wb-mode",
        "data-wb": "mode",
        "aria-label": `Preview mode: ${chosen}`,
        children: [chosen, <Icon key="down" name="down" size={11} />],
      }}
    >
      <div onClick={() => menu.current!.hidePopover()}>{choices(MODES)}</div>
    </Popover>
  );
  const turning = (
    <>
      batch
      <WholeNumber name="batch" label="Batch index" reason={reasons.batch} {...field} />
      <IconButton
        label="Previous batch"
        name="batch-back"
        class="wb-ico wb-reveal"
        disabled={pinned || batch <= 0}
        onClick={() => turn(-1)}
      >
        <Icon name="left" size={13} />
      </IconButton>
      <IconButton
        label="Next batch"
        name="batch-next"
        class="wb-ico wb-reveal"
        disabled={pinned}
        onClick={() => turn(1)}
      >
        <Icon name="right" size={13} />
      </IconButton>
    </>
  );
  const drawing = (
    <>
      seed
      <WholeNumber name="seed" label="Seed" reason={reasons.seed} {...field} />
      <IconButton
        label="New random values (changes the seed)"
        name="reseed"
        class="wb-ico wb-reveal"
        data-tip={`New random values (changes the seed)${more && `\n\n${more}`}`}
        aria-description={more || undefined}
        disabled={pinned}
        onClick={() => link.set("seed", Math.floor(Math.random() * SEEDS))}
      >
        <RandomIcon />
      </IconButton>
    </>
  );
  const keeping = (
    <>
      <button
        class="wb-pin"
        type="button"
        data-wb="pin"
        aria-pressed={pinned}
        data-tip={pinned ? PINNED_TIP : PIN_TIP}
        onClick={() => link.set("pinned", !pinned)}
      >
        <Icon name="pin" size={13} />
        <span>{pinned ? "pinned" : "pin"}</span>
      </button>
      <SavedSamples link={link} />
    </>
  );
  return (
    <div class="wb-controls-row">
      <OverflowRow
        label="More options"
        items={[
          {
            id: "mode",
            content: choices([...USUAL_MODES, ...unusual]),
            compact: compactModes,
            essential: true,
          },
          { id: "batch", content: turning, essential: true },
          { id: "draws", content: keeping, tucked: !pinned },
          { id: "modes", content: closing(choices(MORE_MODES)), tucked: true },
          { id: "seed", content: drawing, tucked: true },
          {
            id: "show-original",
            content: <HoldButton on={showingOriginal} hold={hold} />,
            tucked: true,
          },
        ]}
      />
      <Notice
        name="refused"
        kind="error"
        role="alert"
        words={[reasons.batch, reasons.seed].filter(Boolean).join(" ")}
      />
    </div>
  );
}

interface WholeNumberProps {
  link: Link<"preview">;
  name: Numbered;
  label: string;
  pinned: boolean;
  reason: string;
  refuse: (name: Numbered, reason: string) => void;
}

/** Field for an integer. A refused value remains, with the reason below the controls. */
function WholeNumber({ link, name, label, pinned, reason, refuse }: WholeNumberProps) {
  const value = useField(link, name, 0);
  const most = useField(link, "limits", {})[name] ?? Number.MAX_SAFE_INTEGER;
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current!.value = String(value);
    refuse(name, "");
  }, [value]);
  const take = (typed: number | string | null): void => {
    const fits = Number.isInteger(typed) && Number(typed) >= 0 && Number(typed) <= most;
    const words = `${typed ?? "Nothing"} is not a valid ${name}. Use an integer from 0 to ${most}.`;
    refuse(name, fits ? "" : words);
    if (fits) link.set(name, Number(typed));
  };
  return (
    <NumberField
      ref={input}
      name={label}
      limits={{ ...UNBOUNDED, whole: true, minimum: 0, maximum: most }}
      send={take}
      empty={() => take(null)}
      pause={null}
      data-wb={name}
      disabled={pinned}
      aria-invalid={reason ? true : undefined}
    />
  );
}

/** Button that is active while it is pressed, also with a key. */
function HoldButton({ on, hold }: { on: boolean; hold: (on: boolean) => void }) {
  const end = (): void => hold(false);
  const presses = (event: KeyboardEvent): boolean => event.key === " " || event.key === "Enter";
  return (
    <IconButton
      label="Hold to show originals (o)"
      name="show-original"
      aria-pressed={on}
      aria-keyshortcuts="o"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        hold(true);
      }}
      onPointerUp={end}
      onPointerCancel={end}
      onLostPointerCapture={end}
      onBlur={end}
      onKeyDown={(event) => {
        if (!presses(event)) return;
        event.preventDefault();
        hold(true);
      }}
      onKeyUp={(event) => {
        if (presses(event)) hold(false);
      }}
    >
      <Icon name="eye" size={15} />
    </IconButton>
  );
}
