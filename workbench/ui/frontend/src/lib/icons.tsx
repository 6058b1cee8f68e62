// Inline icons, so that nothing is fetched and rendering does not depend on fonts.

export const PATHS = {
  mute: "M2.5 8h3.2M10.3 8h3.2M5.7 8a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0M3.5 13 12.5 3",
  undo: "M6 3.5 3 6.5l3 3M3.4 6.5h5.8a3.6 3.6 0 0 1 0 7.2H6.5",
  redo: "m10 3.5 3 3-3 3M12.6 6.5H6.8a3.6 3.6 0 0 0 0 7.2h2.7",
  reset: "M3.2 8.6a4.9 4.9 0 1 0 1.3-4L3 6.1M3 2.6v3.5h3.5",
  plus: "M8 3.5v9M3.5 8h9",
  close: "m4 4 8 8M12 4l-8 8",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  up: "M3.5 10.5 8 6l4.5 4.5",
  down: "M3.5 6 8 10.5 12.5 6",
  check: "m3 8.5 3.4 3.4L13 4.6",
  warn: "M8 2.2 14.4 13.4H1.6ZM8 6.4v3.2M8 11.4v.4",
  copy: "M5.8 5.8h7.4v7.4H5.8ZM3 10.4V3h7.4",
  download: "M8 2.8v7M5 7l3 3 3-3M3 13.2h10",
  file: "M4 2.2h5l3 3v8.6H4ZM9 2.2v3h3",
  link: "M6.8 9.2 9.2 6.8M7.4 5.2l1.7-1.7a2.4 2.4 0 0 1 3.4 3.4l-1.7 1.7M8.6 10.8l-1.7 1.7a2.4 2.4 0 0 1-3.4-3.4l1.7-1.7",
  folder: "M2 4.2h4l1.4 1.6H14v7H2Z",
  search: "M7.2 11.9a4.7 4.7 0 1 0 0-9.4 4.7 4.7 0 0 0 0 9.4ZM10.8 10.8l3 3",
  minus: "M3.5 8h9",
  fit: "M2.8 6V2.8H6M10 2.8h3.2V6M13.2 10v3.2H10M6 13.2H2.8V10",
  frame: "M2.8 3.8h10.4v8.4H2.8ZM2.8 6.4h10.4",
  fill: "M9.5 2.8h3.7v3.7M13 3 9.3 6.7M6.5 13.2H2.8V9.5M3 13l3.7-3.7",
  arrange: "M2.5 3h4v3.4h-4ZM9.5 3h4v3.4h-4ZM2.5 9.6h4V13h-4ZM6.5 4.7h3M11.5 6.4v2.2H4.5v1",
  map: "M2.5 3.5h11v9h-11ZM7.5 7.5h4v3h-4Z",
  connect: "M4.2 8a1.7 1.7 0 1 0 0 .1M11.8 8a1.7 1.7 0 1 1 0 .1M4.4 8h7.2",
  pencil: "m3 13 .6-2.6 7.2-7.2 2 2L5.6 12.4Z",
  split: "M2.5 8h3.2M5.7 8 9 4.2h4.5M5.7 8 9 11.8h4.5",
  join: "M13.5 8h-3.2M10.3 8 7 4.2H2.5M10.3 8 7 11.8H2.5",
  same: "M4 6h8M4 10h8",
  eye: "M1.6 8S4 3.8 8 3.8 14.4 8 14.4 8 12 12.2 8 12.2 1.6 8 1.6 8ZM8 9.9a1.9 1.9 0 1 0 0-3.8 1.9 1.9 0 0 0 0 3.8",
  pin: "M5.2 2.5h5.6l-.7 4.3 2.1 2.4H3.8l2.1-2.4ZM8 9.2v4.6",
  bookmark: "M4.2 2.5h7.6v11L8 10.4l-3.8 3.1Z",
  steps: "M1.8 5.6h3.4v4.8H1.8ZM10.8 5.6h3.4v4.8h-3.4ZM5.8 8h4.4M8.6 6.2 10.3 8l-1.7 1.8",
  alignLeft: "M2.5 2v12M5 4.5h8v2.5H5ZM5 9.5h5v2.5H5Z",
  alignCentre: "M8 2v12M3.5 4.5h9v2.5h-9ZM5 9.5h6v2.5H5Z",
  alignRight: "M13.5 2v12M3 4.5h8v2.5H3ZM6 9.5h5v2.5H6Z",
  alignTop: "M2 2.5h12M4.5 5v8H7V5ZM9.5 5v5H12V5Z",
  alignMiddle: "M2 8h12M4.5 3.5v9H7v-9ZM9.5 5v6H12V5Z",
  alignBottom: "M2 13.5h12M4.5 3v8H7V3ZM9.5 6v5H12V6Z",
  distributeAcross: "M2 2.5v11M14 2.5v11M6 5h4v6H6Z",
  distributeDown: "M2.5 2h11M2.5 14h11M5 6h6v4H5Z",
  code: "m5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5l3.5 3.5-3.5 3.5",
  more: "M3.4 8h.1M8 8h.1M12.6 8h.1",
  tiles: "M2.6 2.6h4.2v4.2H2.6ZM9.2 2.6h4.2v4.2H9.2ZM2.6 9.2h4.2v4.2H2.6ZM9.2 9.2h4.2v4.2H9.2Z",
} as const;

interface Shape {
  name: keyof typeof PATHS;
  size?: number;
}

export function Icon({ name, size = 14 }: Shape) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" class="wb-icon">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** Three pips: a random value per sample. */
export function RandomIcon({ size = 14 }: { size?: number }) {
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" class="wb-icon">
      <rect x={2.5} y={2.5} width={11} height={11} rx={2.2} />
      {[5.2, 8, 10.8].map((at) => (
        <circle key={at} cx={at} cy={16 - at} r={1.25} fill="currentColor" stroke="none" />
      ))}
    </svg>
  );
}
