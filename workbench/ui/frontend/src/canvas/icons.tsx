// The glyphs of lib/icons, for React.

import { PATHS } from "../lib/icons";

const FRAME = { viewBox: "0 0 16 16", className: "wb-icon", "aria-hidden": true } as const;

export function Icon({ name, size = 14 }: { name: keyof typeof PATHS; size?: number }) {
  return (
    <svg {...FRAME} width={size} height={size}>
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Dice({ size = 12 }: { size?: number }) {
  return (
    <svg {...FRAME} width={size} height={size}>
      <rect x={2.5} y={2.5} width={11} height={11} rx={2.2} />
      {[5.2, 8, 10.8].map((at) => (
        <circle key={at} cx={at} cy={16 - at} r={1.25} fill="currentColor" stroke="none" />
      ))}
    </svg>
  );
}
