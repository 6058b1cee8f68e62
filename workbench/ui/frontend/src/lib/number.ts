/** As few digits as say it: 0.30000000000000004 becomes 0.3. Whole numbers keep theirs. */
export function tidy(value: number): number {
  return Number.isSafeInteger(value) ? value : Number(value.toPrecision(6));
}

/** With a true minus sign, for reading. */
export function reading(value: number): string {
  return String(tidy(value)).replace("-", "−");
}

/** The number in a field, or null where it holds none (yet). */
export function numberIn(input: HTMLInputElement): number | null {
  const value = input.valueAsNumber;
  return Number.isFinite(value) ? value : null;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

const tenths = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** A rate: 12,346, or of sequences of frames, which are few, 12.3. */
export function rateFigure(rate: number, frames: number): string {
  return frames && rate < 1000 ? tenths.format(rate) : thousands(rate);
}

/** What a rate counts. */
export function rateUnit(frames: number): string {
  return frames ? "sequences/s" : "imgs/s";
}

/** 12,346 imgs/s, or 12.3 sequences/s, 98 frames/s. */
export function rateWords(rate: number, frames: number): string {
  const words = `${rateFigure(rate, frames)} ${rateUnit(frames)}`;
  return frames ? `${words}, ${thousands(rate * frames)} frames/s` : words;
}

/** The ends of an interval of rates: 12.1 … 12.5. */
export function rateSpread(low: number, high: number, frames: number): string {
  return `${rateFigure(low, frames)} … ${rateFigure(high, frames)}`;
}

/** 12345.6 as 12,346. */
export function thousands(value: number): string {
  return grouped.format(value);
}
