// Link of a component to Python: typed fields, and requests for edits.

import type { Components, Json } from "../payloads";
import { connectionOf, type Connection } from "./connection";

/** Object that anywidget and Panel pass to `render`. */
export interface Host {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(event: string, callback: () => void): void;
  off?(event: string, callback: () => void): void;
  /** Jupyter's widget manager, with access to kernel and notebook. */
  widget_manager?: unknown;
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

/** Milliseconds after which the latest value of a drag is sent, even if none was acknowledged. */
const MOST_SEND_DELAY = 300;
/** Events that end the use of a control: the pending value is sent before anything else. */
const LEAVING_EVENTS = ["pointerup", "focusout"] as const;

export class Link<N extends Name> {
  /** Identifies the rendered view, also across reloads of the page. */
  readonly view = Math.random().toString(36).slice(2, 10);
  private next = Date.now() * 1000 + Math.floor(Math.random() * 1000);
  private pending: Edit[] = [];
  private held: number | undefined;
  private texts = new Map<string, { text: string; value: unknown }>();
  private bytes = new Map<string, ArrayBufferView>();
  private listening: [string, () => void][] = [];
  /** Numbers of edits that newer values may replace; only the last is sent on reconnection. */
  private values = new Set<number>();
  private unset = new Map<string, unknown>();
  readonly connection: Connection;
  private ends: (() => void)[];
  private flush = (): void => {
    if (this.held !== undefined) this.send();
  };

  constructor(
    readonly component: N,
    readonly host: Host,
  ) {
    this.connection = connectionOf(String(host.get("workbench") ?? ""));
    this.ends = [
      this.connection.join(component, host),
      this.connection.watch(() => this.follow()),
    ];
    for (const event of LEAVING_EVENTS) window.addEventListener(event, this.flush, true);
    this.on("ack", () => this.acknowledge());
    this.on("outbox", () => this.adopt());
  }

  get<K extends keyof Fields<N> & string>(name: K, fallback: Fields<N>[K]): Fields<N>[K] {
    const value = this.same(name, this.host.get(name));
    const text = typeof value === "string" && typeof fallback === "object";
    return ((text ? this.read(name, value) : value) as Fields<N>[K] | null | undefined) ?? fallback;
  }

  /**
   * Return the same object for the same bytes: Panel wraps them again each time, which would invalidate
   * everything derived from them.
   */
  private same(name: string, value: unknown): unknown {
    if (!ArrayBuffer.isView(value)) return value;
    const last = this.bytes.get(name);
    if (
      last?.buffer === value.buffer &&
      last.byteOffset === value.byteOffset &&
      last.byteLength === value.byteLength
    )
      return last;
    this.bytes.set(name, value);
    return value;
  }

  /** Parse a list or dict that the host sends as JSON text. */
  private read(name: string, text: string): unknown {
    let last = this.texts.get(name);
    if (last?.text !== text) {
      last = { text, value: JSON.parse(text) };
      this.texts.set(name, last);
    }
    return last.value;
  }

  /** Set a field that the browser may set. */
  set<K extends Components[N]["both"] & keyof Fields<N> & string>(
    name: K,
    value: Fields<N>[K],
  ): void {
    if (this.connection.loss) {
      this.unset.set(name, value);
      this.connection.keep(name, { component: this.component, field: name, value: value as Json });
      return;
    }
    this.host.set(name, value);
    this.host.save_changes();
    // JupyterLab notifies about values set here, Panel does not.
    for (const [event, callback] of [...this.listening]) if (event === `change:${name}`) callback();
  }

  /**
   * Request an edit from Python. With `replaces`, an unanswered request of the same action and
   * parameters (except the value) is replaced by this one, as in a drag; the pending value is sent
   * when that request is acknowledged or the control is released. Hosts that process every message
   * would otherwise lag behind. While Python is disconnected, such a value is stored and sent on
   * reconnection; other requests are refused, and the result is false.
   */
  ask<A extends keyof Actions<N> & string>(
    action: A,
    params: Actions<N>[A],
    replaces = false,
  ): boolean {
    const away = this.connection.loss !== null;
    if (away && !replaces) return false;
    const edit: Edit = { ...(params as object), n: ++this.next, view: this.view, do: action };
    const last = this.pending.at(-1);
    const replaced = replaces && last !== undefined && isSameFieldEdit(last, edit);
    if (replaced) this.pending.pop();
    this.pending.push(edit);
    if (replaces) this.values.add(edit.n);
    if (away) this.keep(edit);
    else if (!replaced) this.send();
    else this.held ??= window.setTimeout(() => this.send(), MOST_SEND_DELAY);
    return true;
  }

  /** Store pending values when Python is lost, except edits that might be applied twice. */
  private follow(): void {
    if (this.connection.loss) {
      this.pending = this.pending.filter((edit) => this.values.has(edit.n));
      for (const edit of this.pending) this.keep(edit);
      clearTimeout(this.held);
      this.held = undefined;
      return;
    }
    this.connection.forget(this.component);
    for (const [name, value] of this.unset) this.host.set(name, value);
    this.unset.clear();
    if (this.pending.length) this.send();
    else this.host.save_changes();
  }

  private keep(edit: Edit): void {
    const { n, view, value, ...same } = edit;
    this.connection.keep(JSON.stringify(same), { component: this.component, ...(edit as Record<string, Json>) });
  }

  private send(): void {
    clearTimeout(this.held);
    this.held = undefined;
    this.host.set("outbox", [...this.pending]);
    this.host.save_changes();
  }

  /** True if some requests are not acknowledged yet. */
  get waiting(): boolean {
    return this.pending.length > 0;
  }

  /** Call `draw` now and, once per update, whenever one of these fields has changed. */
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

  /** Call `callback` when a field changes. Returns a function that removes the listener. */
  on(name: string, callback: () => void): () => void {
    const listener: [string, () => void] = [`change:${name}`, callback];
    this.host.on(...listener);
    this.listening.push(listener);
    return () => {
      this.host.off?.(...listener);
      this.listening = this.listening.filter((other) => other !== listener);
    };
  }

  dispose(): void {
    this.flush();
    for (const event of LEAVING_EVENTS) window.removeEventListener(event, this.flush, true);
    for (const [event, callback] of this.listening) this.host.off?.(event, callback);
    this.listening = [];
    for (const end of this.ends) end();
  }

  private acknowledge(): void {
    const ack = Number(this.host.get("ack") ?? 0);
    this.pending = this.pending.filter((edit) => edit.n > ack);
    for (const n of this.values) if (n <= ack) this.values.delete(n);
    this.flush();
  }

  /** Keep the edits of another view of the same model, which writes to the same outbox. */
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

function isSameFieldEdit(a: Edit, b: Edit): boolean {
  const names = Object.keys(b).filter((name) => name !== "n" && name !== "value");
  return names.every((name) => a[name] === b[name]);
}
