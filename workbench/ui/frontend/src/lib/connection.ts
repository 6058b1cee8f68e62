// Connection state of Python: one watch for all components of a workbench on a page. Each component
// is a separate bundle, so the watch is stored under a symbol of the window.

import { followHost, silenceOf } from "./hostSignals";
import type { Json } from "../payloads";
import type { Host } from "./link";

/** An edit or a value that could not be sent, with its component. */
export type UnsentChange = Record<string, Json> & { component: string };

export interface ConnectionLoss {
  /** `silent` (no response), `lost` (disconnected), or `gone` (disconnected permanently). */
  kind: "silent" | "lost" | "gone";
  text: string;
}

const BEATS = Symbol.for("dali-workbench.connections");
const STORAGE_KEY = "dali-workbench-kept";
/** Milliseconds without a beat (sent every 400) after which Python counts as silent. */
const SILENCE = 1300;
const TICK = 100;
/** Maximum milliseconds counted per timer tick, because ticks of a busy page are late. */
const LONGEST_TICK = 600;
/** Milliseconds between requests for beats. Python stops 30 s after the last request. */
const RENEWAL = 10_000;

export class Connection {
  loss: ConnectionLoss | null = null;
  private members: { component: string; host: Host }[] = [];
  private watchers = new Set<() => void>();
  private kept = new Map<string, UnsentChange>();
  /** Milliseconds since the last beat, as far as the page was active. */
  private unheard = 0;
  private ticked = performance.now();
  private asked = -Infinity;
  private timer = 0;
  private endHost: (() => void) | undefined;

  /** Watch the connection for a component. Returns a function that ends the watch. */
  join(component: string, host: Host): () => void {
    const member = { component, host };
    const beat = (): void => this.hear();
    host.on("change:beat", beat);
    this.members.push(member);
    if (this.members.length === 1) this.start(host);
    return () => {
      host.off?.("change:beat", beat);
      const first = this.members[0] === member;
      this.members = this.members.filter((other) => other !== member);
      if (first) this.asked = -Infinity;
      if (!this.members.length) this.end();
    };
  }

  /** Return whether this component shows the message, which only one on the page does. */
  speaks(host: Host): boolean {
    const bar = this.members.find((member) => member.component === "bar");
    return (bar ?? this.members[0])?.host === host;
  }

  /** Call `tell` whenever the loss has changed. Returns a function that stops this. */
  watch(tell: () => void): () => void {
    this.watchers.add(tell);
    return () => this.watchers.delete(tell);
  }

  /** Store the latest value to send on reconnection, also across a reload of the page. */
  keep(key: string, entry: UnsentChange): void {
    this.kept.set(`${entry.component} ${key}`, entry);
  }

  forget(component: string): void {
    for (const key of this.kept.keys()) if (key.startsWith(`${component} `)) this.kept.delete(key);
  }

  /** Report that Python is disconnected. The next beat ends this state. */
  lose(kind: "lost" | "gone", text: string): void {
    if (this.loss?.kind !== "gone") this.change({ kind, text });
  }

  /** Store unsent values for the next page of this tab, and reload. */
  reload(): void {
    try {
      sessionStorage.setItem(STORAGE_KEY, JSON.stringify([...this.kept.values()]));
    } catch {
      // Without storage the session itself is still restored.
    }
    location.reload();
  }

  private start(host: Host): void {
    this.ticked = performance.now();
    this.unheard = 0;
    this.timer = window.setInterval(() => this.tick(), TICK);
    this.endHost = followHost(this, host);
    this.tick();
  }

  private end(): void {
    clearInterval(this.timer);
    this.endHost?.();
    this.asked = -Infinity;
  }

  private hear(): void {
    this.unheard = 0;
    if (this.loss && this.loss.kind !== "gone") this.change(null);
  }

  private tick(): void {
    const now = performance.now();
    this.unheard = document.hidden ? 0 : this.unheard + Math.min(now - this.ticked, LONGEST_TICK);
    this.ticked = now;
    if (document.hidden) return; // hidden pages receive no beats
    const host = this.members[0]?.host;
    if (host && now - this.asked > RENEWAL && this.loss?.kind !== "gone") {
      this.asked = now;
      host.set("watched", Date.now());
      host.save_changes();
    }
    if (!this.loss && host && this.unheard > SILENCE) this.change({ kind: "silent", text: silenceOf(host) });
  }

  private change(loss: ConnectionLoss | null): void {
    if (loss?.kind === this.loss?.kind && loss?.text === this.loss?.text) return;
    if (!loss) this.asked = -Infinity;
    this.loss = loss;
    for (const tell of [...this.watchers]) tell();
  }
}

/** Return the connection of a workbench on this page. */
export function connectionOf(workbench: string): Connection {
  const shared = window as unknown as Record<symbol, Map<string, Connection> | undefined>;
  const all = (shared[BEATS] ??= new Map());
  const found = all.get(workbench) ?? new Connection();
  all.set(workbench, found);
  return found;
}

/** Return and remove the unsent values of the previous page in this tab. */
export function takePendingChanges(): UnsentChange[] {
  try {
    const text = sessionStorage.getItem(STORAGE_KEY);
    sessionStorage.removeItem(STORAGE_KEY);
    return text ? (JSON.parse(text) as UnsentChange[]) : [];
  } catch {
    return [];
  }
}
