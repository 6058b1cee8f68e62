// Glyphs drawn here, so that nothing is fetched and no font decides how they look.

import { svg } from "./dom";

const PATHS = {
  undo: "M6 3.5 3 6.5l3 3M3.4 6.5h5.8a3.6 3.6 0 0 1 0 7.2H6.5",
  redo: "m10 3.5 3 3-3 3M12.6 6.5H6.8a3.6 3.6 0 0 0 0 7.2h2.7",
  reset: "M3.2 8.6a4.9 4.9 0 1 0 1.3-4L3 6.1M3 2.6v3.5h3.5",
  plus: "M8 3.5v9M3.5 8h9",
  close: "m4 4 8 8M12 4l-8 8",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  check: "m3 8.5 3.4 3.4L13 4.6",
  warn: "M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.4v.4",
  copy: "M5.8 5.8h7.4v7.4H5.8ZM3 10.4V3h7.4",
  download: "M8 2.8v7M5 7l3 3 3-3M3 13.2h10",
  folder: "M2 4.2h4l1.4 1.6H14v7H2Z",
  search: "M7.2 11.9a4.7 4.7 0 1 0 0-9.4 4.7 4.7 0 0 0 0 9.4ZM10.8 10.8l3 3",
} as const;

export function icon(name: keyof typeof PATHS, size = 15): SVGSVGElement {
  return frame(size, svg("path", { d: PATHS[name] }));
}

/** Three pips: a value drawn for each sample. */
export function dice(size = 14): SVGSVGElement {
  const pip = (at: number): SVGElement =>
    svg("circle", { cx: at, cy: 16 - at, r: 1.25, fill: "currentColor", stroke: "none" });
  return frame(
    size,
    svg("rect", { x: 2.5, y: 2.5, width: 11, height: 11, rx: 2.2 }),
    pip(5.2),
    pip(8),
    pip(10.8),
  );
}

function frame(size: number, ...shapes: SVGElement[]): SVGSVGElement {
  const box = { viewBox: "0 0 16 16", width: size, height: size, "aria-hidden": "true" };
  return svg("svg", { ...box, class: "wb-icon" }, ...shapes);
}
