// Cache that drops values that are no longer in use.

/** Returns the same result for the same inputs, per id. */
export class KeyedMemo<T> {
  private known = new Map<string, { inputs: readonly unknown[]; made: T }>();
  private next = new Map<string, { inputs: readonly unknown[]; made: T }>();

  take(id: string, inputs: readonly unknown[], make: () => T): T {
    const old = this.known.get(id);
    const same = old && old.inputs.every((input, at) => Object.is(input, inputs[at]));
    const entry = same ? old : { inputs, made: make() };
    this.next.set(id, entry);
    return entry.made;
  }

  /** Drop entries that were not used since the last call. */
  turn(): void {
    this.known = this.next;
    this.next = new Map();
  }
}
