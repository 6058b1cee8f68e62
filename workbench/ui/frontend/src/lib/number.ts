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

/** 12345.6 as 12,346. */
export function thousands(value: number): string {
  return grouped.format(value);
}
