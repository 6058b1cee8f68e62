/** Call `run` immediately, then at most every `ms`, and always with the last value. */
export function throttle<T>(
  ms: number,
  run: (value: T) => void,
): { push(value: T): void; flush(): void } {
  let waiting: { value: T } | null = null;
  let timer: number | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (!waiting) return;
    const { value } = waiting;
    waiting = null;
    run(value);
    timer = window.setTimeout(flush, ms);
  };
  return {
    push(value) {
      waiting = { value };
      if (timer === undefined) flush();
    },
    flush,
  };
}
