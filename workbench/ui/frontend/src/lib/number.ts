/** Return the shortest decimal form: `0.3` for 0.30000000000000004; integers are unchanged. */
export function roundedText(value: number): number {
  return Number.isSafeInteger(value) ? value : Number(value.toPrecision(6));
}

/** Format a number for display, with a minus sign instead of a hyphen. */
export function reading(value: number): string {
  return String(roundedText(value)).replace("-", "−");
}

/** Return the number in a field; null if it contains none. */
export function numberIn(input: HTMLInputElement): number | null {
  const value = input.valueAsNumber;
  return Number.isFinite(value) ? value : null;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Format a rate without its unit: `12,346`, or `12.3` for sequences. */
export function rateFigure(rate: number, frames: number): string {
  return frames && rate < 1000 ? tenths.format(rate) : thousands(rate);
}

/** Return the unit of a rate. */
export function rateUnit(frames: number): string {
  return frames ? "sequences/s" : "imgs/s";
}

/** Format a number with thousands separators: `12,346` for 12345.6. */
export function thousands(value: number): string {
  return grouped.format(value);
}
