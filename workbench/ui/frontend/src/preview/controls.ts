// What is to be seen: which pictures, which batch, which draws; and whether it is what ships.

import { iconButton } from "../lib/button";
import { attr, h } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import { numberField, UNBOUNDED } from "../lib/numberInputs";
import type { Link } from "../lib/link";
import { segmented } from "../lib/segmented";
import type { PreviewFields, SheetHeader } from "../views";
import { savedDraws } from "./savedDraws";
import { verificationControl } from "./verification";
import { displayOptions } from "./displayOptions";

const MODES = [
  { id: "original", label: "Original" },
  { id: "augmented", label: "Augmented" },
  { id: "both", label: "Both" },
  { id: "difference", label: "Difference" },
];
const FAR = "For all tiles: a close-up shows one picture, which is chosen below.";
const SEEDS = 100_000;

export interface Controls {
  el: HTMLElement;
  say(header: SheetHeader): void;
  /** Shows the originals for as long as it is on. */
  hold(on: boolean): void;
  showingOriginal(): boolean;
  /** Tells whether one tile is looked at closely. */
  near(on: boolean): void;
}

export function controls(link: Link<"preview">, showOriginal: (on: boolean) => void): Controls {
  const modes = segmented("What is shown", (id) => link.set("mode", id as PreviewFields["mode"]));
  let closely = false;
  const drawModes = (): void => {
    const offered = MODES.map((mode) => ({ ...mode, disabled: closely ? FAR : "" }));
    modes.draw(offered, link.get("mode", "both"));
  };
  link.watch(["mode"], drawModes);
  const near = (on: boolean): void => {
    if (closely === on) return;
    closely = on;
    drawModes();
  };
  const eye = holdButton(showOriginal);

  const refused = h("p", { class: "wb-refused", role: "alert", "data-wb": "refused" });
  const reasons = new Map<Element, string>();
  const refuse = (el: Element, reason: string): void => {
    attr(el, "aria-invalid", reason ? "true" : null);
    if (reason) reasons.set(el, reason);
    else if (!reasons.delete(el)) return;
    refused.replaceChildren(...[...reasons.values()].flatMap((why) => [icon("warn", 12), why]));
  };
  /** A field of whole numbers. What it refuses stays in it, with the reason under the controls. */
  const field = (name: "batch" | "seed", label: string): HTMLInputElement => {
    const most = (): number => link.get("limits", {})[name] ?? Number.MAX_SAFE_INTEGER;
    const take = (value: number | string | null, el: Element): void => {
      const fits = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most();
      const words = `${value ?? "Nothing"} is no ${name}. Give a whole number from 0 to ${most()}.`;
      refuse(el, fits ? "" : words);
      if (fits) link.set(name, Number(value));
    };
    const limits = { ...UNBOUNDED, whole: true, minimum: 0, maximum: most() };
    const el = numberField(label, limits, take, (emptied) => take(null, emptied), null);
    el.dataset["wb"] = name;
    let known: number | null = null;
    link.watch([name], () => {
      const value = link.get(name, 0);
      if (known === value) return;
      el.value = String((known = value));
      refuse(el, "");
    });
    return el;
  };
  const batch = field("batch", "Batch, from 0");
  const seed = field("seed", "Seed");
  const turn = (by: number): void => link.set("batch", Math.max(0, link.get("batch", 0) + by));
  const back = iconButton("Previous batch", "batch-back", icon("left", 13), () => turn(-1));
  const next = iconButton("Next batch", "batch-next", icon("right", 13), () => turn(1));
  const reseed = iconButton("New draw: another seed", "reseed", dice(14), () =>
    link.set("seed", Math.floor(Math.random() * SEEDS)),
  );
  link.watch(["shuffles"], () => {
    const photos =
      "The reader shuffles, so other photos come too. To keep these, pin the draws; for other draws " +
      "of one photo, take the dice on its tile.";
    const more = link.get("shuffles", false) ? `\n\n${photos}` : "";
    attr(reseed, "data-tip", `New draw: another seed${more}`);
    attr(reseed, "aria-description", more.trim() || null);
  });
  const pin = h(
    "button",
    { class: "wb-pin", type: "button", "data-wb": "pin" },
    icon("pin", 13),
    h("span", {}),
  );
  pin.addEventListener("click", () => link.set("pinned", !link.get("pinned", false)));
  link.watch(["pinned", "batch"], () => {
    const pinned = link.get("pinned", false);
    attr(pin, "aria-pressed", String(pinned));
    attr(
      pin,
      "data-tip",
      pinned
        ? "The draws are pinned\n\nSeed and batch stay as they are: what you see change is your edit."
        : "Pin the draws\n\nKeeps seed and batch as they are while you change values.",
    );
    pin.lastElementChild!.textContent = pinned ? "pinned" : "pin";
    for (const el of [batch, seed]) el.disabled = pinned;
    back.disabled = pinned || link.get("batch", 0) <= 0;
    next.disabled = reseed.disabled = pinned;
  });

  const checked = verificationControl(link);
  const seen = displayOptions(link);
  const el = h(
    "div",
    {},
    h(
      "div",
      { class: "wb-controls" },
      modes.el,
      eye.el,
      h("span", { class: "wb-control" }, "batch", back, batch, next),
      h("span", { class: "wb-control" }, "seed", seed, reseed),
      h("span", { class: "wb-control" }, pin, savedDraws(link)),
      h("span", { class: "wb-said" }, checked, seen.el),
    ),
    refused,
  );
  return { el, say: seen.say, hold: eye.hold, showingOriginal: eye.showingOriginal, near };
}

/** A button that does something for as long as it is pressed; a key may press it too. */
function holdButton(showOriginal: (on: boolean) => void): {
  el: HTMLElement;
  hold(on: boolean): void;
  showingOriginal(): boolean;
} {
  let showingOriginal = false;
  const hold = (on: boolean): void => {
    if (on === showingOriginal) return;
    showingOriginal = on;
    attr(el, "aria-pressed", String(on));
    showOriginal(on);
  };
  const el = iconButton("Hold to see the originals (key o)", "show-original", icon("eye", 15), () => {});
  attr(el, "aria-pressed", "false");
  attr(el, "aria-keyshortcuts", "o");
  el.addEventListener("pointerdown", (event) => {
    el.setPointerCapture(event.pointerId);
    hold(true);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) {
    el.addEventListener(end, () => hold(false));
  }
  el.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    hold(true);
  });
  el.addEventListener("keyup", (event) => {
    if (event.key === " " || event.key === "Enter") hold(false);
  });
  return { el, hold, showingOriginal: () => showingOriginal };
}
