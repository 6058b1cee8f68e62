// What every control of a row is and does.

import type { ArgRow, Json } from "../views";
import { attr } from "../lib/dom";
import { tidy } from "../lib/number";
import type { Limits } from "../lib/numberInputs";

export interface Control {
  el: HTMLElement;
  /** Whether it needs the row's whole width. */
  wide?: boolean;
  draw(row: ArgRow): void;
}

export interface Ask {
  set(value: Json, from: Element): void;
  reset(): void;
}

export function limitsOf(row: ArgRow): Limits {
  const { low, high, step, minimum, maximum } = row;
  return { low, high, step, minimum, maximum, whole: row.kind.startsWith("int") };
}

export function placeholder(row: ArgRow): string {
  if (row.required) return "required";
  if (row.off) return "off";
  return row.default === null || asText(row.default) === "" ? "not set" : asText(row.default);
}

export function asText(value: Json): string {
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "number") return String(tidy(value));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Sets a field's text only where it differs, so that the caret stays. */
export function write(el: HTMLInputElement | HTMLTextAreaElement, value: string): void {
  if (el.value !== value) el.value = value;
}

/** Ties a field to its fault and its documentation. */
export function mark(el: HTMLElement, row: ArgRow): void {
  attr(el, "aria-invalid", row.error ? "true" : null);
  const doc = row.doc.length > 200 ? `${row.doc.slice(0, 200)}…` : row.doc;
  const words = [row.error, row.locked, row.off, row.unit && `In ${row.unit}.`, doc, row.fixed_only];
  attr(el, "aria-description", words.filter(Boolean).join(" ") || null);
}
