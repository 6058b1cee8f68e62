/** Shortest decimal form: 0.30000000000000004 becomes 0.3. Integers are unchanged. */
export function roundedText(value: number): number {
  return Number.isSafeInteger(value) ? value : Number(value.toPrecision(6));
}

/** With a true minus sign, for display. */
export function reading(value: number): string {
  return String(roundedText(value)).replace("-", "−");
}

/** Number in a field, or null if there is none (yet). */
export function numberIn(input: HTMLInputElement): number | null {
  const value = input.valueAsNumber;
  return Number.isFinite(value) ? value : null;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Rate: 12,346, or 12.3 for sequences of frames. */
export function rateFigure(rate: number, frames: number): string {
  return frames && rate < 1000 ? tenths.format(rate) : thousands(rate);
}

/** Unit of a rate. */
export function rateUnit(frames: number): string {
  return frames ? "sequences/s" : "imgs/s";
}

/** 12,346 imgs/s, or 12.3 sequences/s, 98 frames/s. */
export function rateWords(rate: number, frames: number): string {
  const words = `${rateFigure(rate, frames)} ${rateUnit(frames)}`;
  return frames ? `${words}, ${thousands(rate * frames)} frames/s` : words;
}

/** Interval of rates: 12.1 … 12.5. */
export function rateSpread(low: number, high: number, frames: number): string {
  return `${rateFigure(low, frames)} … ${rateFigure(high, frames)}`;
}

/** 12345.6 as 12,346. */
export function thousands(value: number): string {
  return grouped.format(value);
}
