// Equality of JSON values, and lists that reuse unchanged items.

export function jsonEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => jsonEqual((a as never)[name], (b as never)[name]));
}

/** Return `next` with equal items replaced by those of `old`; `old` itself if all are equal. */
export function reuseUnchanged<T extends { id: string }>(
  old: readonly T[],
  next: readonly T[],
): readonly T[] {
  const before = new Map(old.map((item) => [item.id, item]));
  const items = next.map((item) => {
    const known = before.get(item.id);
    return known && jsonEqual(known, item) ? known : item;
  });
  const unchanged = items.length === old.length && items.every((item, at) => item === old[at]);
  return unchanged ? old : items;
}

/** Return `old` if both are equal, otherwise `next`; equal items with ids are those of `old`. */
export function reuseEqual<T>(old: T, next: T): T {
  if (areEntries(old) && areEntries(next)) return reuseUnchanged(old, next) as T;
  return jsonEqual(old, next) ? old : next;
}

function areEntries(value: unknown): value is readonly { id: string }[] {
  const isEntry = (item: unknown): boolean => typeof item === "object" && item !== null && "id" in item;
  return Array.isArray(value) && value.every(isEntry);
}
