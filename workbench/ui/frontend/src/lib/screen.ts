// Panes of the workbench: canvas, inspector and panels next to each other in the window or cell,
// with draggable edges. A part that is shown alone has no screen around it.

import css from "../styles/screen.css";
import { chord, isTyping, keepFocus } from "./keyboard";
import { fillWindow } from "./fillWindow";
import { closestAround } from "./siblings";
import { followTheme } from "./theme";

/** Screen width in pixels below which canvas and inspector share a column. */
const MEDIUM = 900;
const NARROW = 640;
/** Minimum width of a pane, as in `screen.css`. */
const NARROWEST_PANE = 160;
const STEP = 16;
/** Fraction of a narrow screen's height for the panels; all other panes share the rest. */
const PANELS_SHARE = 0.5;
/** Fraction of the height for the canvas if the inspector is below it, as in `screen.css`. */
const CANVAS_SHARE = 0.57;
const STORAGE_KEY = "dali-workbench-panes";

type Pane = "canvas" | "inspector";

/** Arrange the screen around a part once it is on the page. Returns a function that stops this. */
export function arrangeScreen(part: HTMLElement): () => void {
  let stop: (() => void) | null = null;
  const attached = new ResizeObserver(() => {
    const screen = closestAround(part, ".wb-screen");
    if (!screen || stop) return;
    attached.disconnect();
    stop = arrange(screen);
  });
  attached.observe(part);
  return () => {
    attached.disconnect();
    stop?.();
  };
}

function arrange(screen: HTMLElement): () => void {
  const panes = screen.querySelector<HTMLElement>(".wb-screen-panes");
  if (!panes) return () => {};
  const style = document.createElement("style");
  style.textContent = css;
  screen.append(style);
  const endTheme = followTheme(screen);
  keepFocus(screen);
  const edges = [edgeOf(panes, "canvas"), edgeOf(panes, "inspector")];
  panes.append(...edges);
  restoreWidths(panes);
  const resized = new ResizeObserver(() => measure(screen, panes));
  resized.observe(screen);
  resized.observe(panes);
  measure(screen, panes);
  const filled = new MutationObserver(() => measure(screen, panes));
  filled.observe(screen, { attributeFilter: ["data-alone"] });
  const key = (event: KeyboardEvent): void => toggleAlone(event, screen);
  screen.addEventListener("keydown", key);
  return () => {
    resized.disconnect();
    filled.disconnect();
    endTheme();
    screen.removeEventListener("keydown", key);
    for (const each of [style, ...edges]) each.remove();
  };
}

function measure(screen: HTMLElement, panes: HTMLElement): void {
  const { clientWidth: width, clientHeight: height } = panes;
  if (!width) return;
  const stacked = screen.classList.contains("wb-screen-stacked");
  const form = stacked || width < NARROW ? "narrow" : width < MEDIUM ? "medium" : "wide";
  if (screen.dataset["form"] !== form) screen.dataset["form"] = form;
  const alone = screen.dataset["alone"] !== undefined;
  const panels = form === "narrow" && !alone ? height * PANELS_SHARE : height;
  const whole = alone || form === "wide";
  const canvas = whole ? height : form === "medium" ? CANVAS_SHARE * height : height / 2;
  setLength(screen, "--wb-panes-height", height);
  setLength(panes, "--wb-canvas-height", canvas);
  setLength(panes, "--wb-beside-height", whole || form === "narrow" ? canvas : height - canvas);
  setLength(panes, "--wb-panels-height", panels);
}

function setLength(el: HTMLElement, name: string, pixels: number): void {
  const value = `${Math.floor(pixels)}px`;
  if (el.style.getPropertyValue(name) !== value) el.style.setProperty(name, value);
}

/** Handle the key `f`, which toggles full-window mode of the canvas or the open panel. */
function toggleAlone(event: KeyboardEvent, screen: HTMLElement): void {
  const path = event.composedPath();
  if (chord(event) !== "F" || event.defaultPrevented || isTyping(path[0] ?? null)) return;
  const within = (name: string): boolean =>
    path.some((each) => each instanceof Element && each.classList.contains(name));
  const pane = within("wb-pane-canvas") ? "canvas" : within("wb-pane-panels") ? "panels" : "";
  if (!pane) return;
  event.preventDefault();
  fillWindow(screen, pane);
}

/** Draggable edge between two panes; a double click or Enter resets it. */
function edgeOf(panes: HTMLElement, pane: Pane): HTMLElement {
  const edge = document.createElement("div");
  edge.className = `wb-screen-edge wb-${pane}-edge`;
  edge.tabIndex = 0;
  edge.dataset["wb"] = `${pane}-edge`;
  edge.setAttribute("role", "separator");
  edge.setAttribute("aria-orientation", "vertical");
  edge.setAttribute("aria-label", `Width of the ${pane}`);
  edge.setAttribute("data-lm-suppress-shortcuts", "true");
  const widthNow = (of: Pane | "panels" = pane): number =>
    panes.querySelector(`.wb-pane-${of}`)?.getBoundingClientRect().width ?? NARROWEST_PANE;
  const widen = (to: number): void => {
    // Only the panels may become smaller, down to the minimum width.
    const most = widthNow() + widthNow("panels") - NARROWEST_PANE;
    setWidth(panes, pane, Math.min(Math.max(to, NARROWEST_PANE), most));
  };
  const say = (): void => edge.setAttribute("aria-valuenow", String(Math.round(widthNow())));
  const reset = (): void => setWidth(panes, pane, null);

  let from: { x: number; width: number } | null = null;
  edge.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    edge.setPointerCapture(event.pointerId);
    from = { x: event.clientX, width: widthNow() };
    event.preventDefault();
    edge.focus();
  });
  edge.addEventListener("pointermove", (event) => {
    if (from) widen(from.width + event.clientX - from.x);
  });
  const end = (): void => {
    if (from) keepWidths(panes);
    from = null;
    say();
  };
  edge.addEventListener("pointerup", end);
  edge.addEventListener("pointercancel", end);
  edge.addEventListener("dblclick", reset);
  edge.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by) widen(widthNow() + by);
    else if (event.key === "Enter") reset();
    else return;
    event.preventDefault();
    keepWidths(panes);
    say();
  });
  edge.addEventListener("focus", say);
  edge.setAttribute("aria-valuemin", String(NARROWEST_PANE));
  edge.setAttribute("aria-valuenow", String(NARROWEST_PANE));
  return edge;
}

function setWidth(panes: HTMLElement, pane: Pane, width: number | null): void {
  if (width === null) panes.style.removeProperty(`--wb-${pane}-width`);
  else setLength(panes, `--wb-${pane}-width`, width);
  if (width === null) keepWidths(panes);
}

function keepWidths(panes: HTMLElement): void {
  const widths = { canvas: widthOf(panes, "canvas"), inspector: widthOf(panes, "inspector") };
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(widths));
  } catch {
    // Without storage the widths last as long as the page.
  }
}

function restoreWidths(panes: HTMLElement): void {
  let kept: unknown;
  try {
    kept = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
  } catch {
    return;
  }
  for (const pane of ["canvas", "inspector"] as const) {
    const width = (kept as Partial<Record<Pane, unknown>> | null)?.[pane];
    if (typeof width === "number" && width >= NARROWEST_PANE) setWidth(panes, pane, width);
  }
}

function widthOf(panes: HTMLElement, pane: Pane): number | null {
  return parseFloat(panes.style.getPropertyValue(`--wb-${pane}-width`)) || null;
}
