// What was made once is kept for as long as it is asked for.

/** The same result for the same inputs, for each id. */
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

  /** Forgets what was not asked for since the last time. */
  turn(): void {
    this.known = this.next;
    this.next = new Map();
  }
}
