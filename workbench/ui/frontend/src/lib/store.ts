// A value that many watch: what changes in it is set as a whole, and each watcher is told once.

export class Store<T extends object> {
  private watchers = new Set<() => void>();

  constructor(private value: T) {}

  readonly get = (): T => this.value;

  /** Sets some of its parts; tells nobody where all of them are what they were. */
  set(change: Partial<T>): void {
    const names = Object.keys(change) as (keyof T)[];
    if (names.every((name) => Object.is(this.value[name], change[name]))) return;
    this.value = { ...this.value, ...change };
    for (const tell of [...this.watchers]) tell();
  }

  /** Returns what ends the watching. */
  readonly watch = (tell: () => void): (() => void) => {
    this.watchers.add(tell);
    return () => this.watchers.delete(tell);
  };
}
