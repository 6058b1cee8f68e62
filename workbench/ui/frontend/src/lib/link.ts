// A component's view of its Python half: typed fields, and edits that are asked for, not made.

import type { Components } from "../views";

/** What anywidget and Panel both hand to `render`. */
export interface Host {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off?(event: string, callback: () => void): void;
}

type Name = keyof Components;
type Fields<N extends Name> = Components[N]["fields"];
type Actions<N extends Name> = Components[N]["actions"];

interface Edit {
  n: number;
  view: string;
  do: string;
  [param: string]: unknown;
}

/** Milliseconds after which the newest of a drag is sent, though none was answered. */
const LATE = 300;
/** With these the hand leaves a control: what it does next, elsewhere, is to come after. */
const LEAVING = ["pointerup", "focusout"] as const;

export class Link<N extends Name> {
  /** Tells Python one drawn view from another, and from the same page reloaded. */
  readonly view = Math.random().toString(36).slice(2, 10);
  private next = Date.now() * 1000 + Math.floor(Math.random() * 1000);
  private pending: Edit[] = [];
  private held: number | undefined;
  private texts = new Map<string, { text: string; value: unknown }>();
  private listening: [string, () => void][] = [];
  private flush = (): void => {
    if (this.held !== undefined) this.send();
  };

  constructor(private host: Host) {
    for (const event of LEAVING) window.addEventListener(event, this.flush, true);
    this.on("ack", () => this.acknowledge());
    this.on("outbox", () => this.adopt());
  }

  get<K extends keyof Fields<N> & string>(name: K, fallback: Fields<N>[K]): Fields<N>[K] {
    const value = this.host.get(name);
    const text = typeof value === "string" && typeof fallback === "object";
    return ((text ? this.read(name, value) : value) as Fields<N>[K] | null | undefined) ?? fallback;
  }

  /** A list or dict that the host sends as JSON text. */
  private read(name: string, text: string): unknown {
    let last = this.texts.get(name);
    if (last?.text !== text) {
      last = { text, value: JSON.parse(text) };
      this.texts.set(name, last);
    }
    return last.value;
  }

  /** Sets a field that either side may set. */
  set<K extends Components[N]["both"] & keyof Fields<N> & string>(
    name: K,
    value: Fields<N>[K],
  ): void {
    this.host.set(name, value);
    this.host.save_changes();
  }

  /**
   * Asks Python for an edit. With `replaces`, an unanswered ask of the same action and
   * parameters (but for the value) gives way to this one, as in a drag, which goes when that one
   * is answered or the hand leaves the control: a host that takes each message by itself would
   * lag behind the hand.
   */
  ask<A extends keyof Actions<N> & string>(
    action: A,
    params: Actions<N>[A],
    replaces = false,
  ): void {
    const edit: Edit = { ...(params as object), n: ++this.next, view: this.view, do: action };
    const last = this.pending.at(-1);
    const replaced = replaces && last !== undefined && sameButForValue(last, edit);
    if (replaced) this.pending.pop();
    this.pending.push(edit);
    if (!replaced) this.send();
    else this.held ??= window.setTimeout(() => this.send(), LATE);
  }

  private send(): void {
    clearTimeout(this.held);
    this.held = undefined;
    this.host.set("outbox", [...this.pending]);
    this.host.save_changes();
  }

  /** Whether Python has yet to carry something out. */
  get waiting(): boolean {
    return this.pending.length > 0;
  }

  /** Calls `draw` now and, once for all of them, whenever some of these fields have changed. */
  watch(names: (keyof Fields<N> & string)[], draw: () => void): void {
    let due = false;
    const later = (): void => {
      if (due) return;
      due = true;
      queueMicrotask(() => {
        due = false;
        draw();
      });
    };
    for (const name of names) this.on(name, later);
    draw();
  }

  on(name: string, callback: () => void): void {
    this.host.on(`change:${name}`, callback);
    this.listening.push([`change:${name}`, callback]);
  }

  dispose(): void {
    this.flush();
    for (const event of LEAVING) window.removeEventListener(event, this.flush, true);
    for (const [event, callback] of this.listening) this.host.off?.(event, callback);
    this.listening = [];
  }

  private acknowledge(): void {
    const ack = Number(this.host.get("ack") ?? 0);
    this.pending = this.pending.filter((edit) => edit.n > ack);
    this.flush();
  }

  /** A second view of the same model writes the same outbox: carry its edits along. */
  private adopt(): void {
    const ack = Number(this.host.get("ack") ?? 0);
    const outbox = (this.host.get("outbox") ?? []) as Edit[];
    const others = outbox.filter((edit) => edit.view !== this.view && edit.n > ack);
    for (const edit of others) {
      this.next = Math.max(this.next, edit.n);
      if (!this.pending.some((mine) => mine.n === edit.n)) this.pending.push(edit);
    }
    this.pending.sort((a, b) => a.n - b.n);
  }
}

function sameButForValue(a: Edit, b: Edit): boolean {
  const names = Object.keys(b).filter((name) => name !== "n" && name !== "value");
  return names.every((name) => a[name] === b[name]);
}
