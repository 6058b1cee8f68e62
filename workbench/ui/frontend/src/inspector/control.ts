// Properties of all controls of a row.

import type { ArgRow, Json } from "../payloads";
import { roundedText } from "../lib/number";
import type { Limits } from "../lib/numberInputs";

export interface Ask {
  set(value: Json, from: Element): void;
  reset(): void;
}

/** Properties of a control. It has no own state: when rendered, it shows the value from Python. */
export interface ControlProps {
  row: ArgRow;
  ask: Ask;
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
  if (typeof value === "number") return String(roundedText(value));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Return attributes that connect a field with its error and documentation for accessibility. */
export function described(row: ArgRow, wrong = row.error !== "") {
  const doc = row.doc.length > 200 ? `${row.doc.slice(0, 200)}…` : row.doc;
  const words = [row.error, row.locked, row.off, row.unit && `In ${row.unit}.`, doc, row.fixed_only];
  return {
    "aria-invalid": wrong || undefined,
    "aria-description": words.filter(Boolean).join(" ") || undefined,
  };
}
