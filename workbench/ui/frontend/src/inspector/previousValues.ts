// Previous values of arguments. The graph only stores the current one; the page remembers earlier
// ones, so that randomness can be turned off and on again.

import type { ArgRow, Json } from "../payloads";

interface StoredValue {
  value: Json;
  op: string;
  draws: Map<string, Record<string, Json>>;
}

export class PreviousValues {
  private pasts = new Map<string, StoredValue>();

  /** Store the values of a row. `owner` identifies the operator and the node. */
  note(owner: string, row: ArgRow): void {
    const past = this.past(owner, row.name);
    if (row.error) return;
    if (row.mode === "fixed") past.value = row.value;
    else if (row.random) {
      past.op = row.random.op;
      past.draws.set(past.op, row.random.args);
    }
  }

  /** Store a value sent to Python, because the dice may be pressed before the response. */
  noteSent(owner: string, row: ArgRow, value: Json): void {
    const past = this.past(owner, row.name);
    past.value = value;
    past.draws.clear(); // the dice then centres its range on the new value
  }

  /** Store a value sent to Python for an argument of the distribution. */
  noteSentDraw(owner: string, row: ArgRow, key: string, value: Json): void {
    if (!row.random) return;
    const { draws } = this.past(owner, row.name);
    const { op, args } = row.random;
    draws.set(op, { ...args, ...draws.get(op), [key]: value });
  }

  /** Return the last fixed value, or null. */
  value(owner: string, arg: string): Json {
    return this.past(owner, arg).value;
  }

  /** Return the last distribution, or "". */
  op(owner: string, arg: string): string {
    return this.past(owner, arg).op;
  }

  /** Return the last arguments of the generator; empty if it was not used yet. */
  args(owner: string, arg: string, op: string): Record<string, Json> {
    return this.past(owner, arg).draws.get(op) ?? {};
  }

  private past(owner: string, arg: string): StoredValue {
    const key = `${owner}.${arg}`;
    const known = this.pasts.get(key);
    if (known) return known;
    const fresh: StoredValue = { value: null, op: "", draws: new Map() };
    this.pasts.set(key, fresh);
    return fresh;
  }
}
