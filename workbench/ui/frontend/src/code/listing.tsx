// Source listing with line numbers, syntax colours and highlighted lines.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { tokenise } from "./python";

interface Props {
  path: string;
  source: string;
  /** Line numbers, from 1. */
  highlighted: readonly number[];
  /** Changes when the first line should be shown; 0 to show the highlighted lines. */
  fromTop: number;
}

const HIGHLIGHTED = "[data-highlighted]";

export function Listing({ path, source, highlighted, fromTop }: Props) {
  const list = useRef<HTMLPreElement>(null);
  const lines = useMemo(() => (source ? tokenise(source.trimEnd()) : []).map(renderTokens), [source]);
  const reveals = useRef(false);
  reveals.current = !fromTop;
  useLayoutEffect(() => {
    list.current!.scrollTop = 0;
  }, [path, fromTop]);
  useLayoutEffect(() => {
    if (!fromTop) reveal(list.current!);
  }, [path, source, highlighted, fromTop]);
  useLayoutEffect(() => {
    // Nothing has a position while the panel is closed: scroll to the highlighted lines when it
    // opens.
    let open = false;
    const observer = new ResizeObserver(() => {
      const now = list.current!.clientHeight > 0;
      if (now && !open && reveals.current) reveal(list.current!);
      open = now;
    });
    observer.observe(list.current!);
    return () => observer.disconnect();
  }, []);
  return (
    <pre
      ref={list}
      tabIndex={0}
      role="region"
      data-wb="source"
      data-path={path}
      aria-label={path ? `Source of ${path}` : "Source"}
      hidden={!path}
    >
      {lines.map((code, index) => (
        <div
          key={index}
          class="wb-line"
          data-line={index + 1}
          data-highlighted={highlighted.includes(index + 1) || undefined}
        >
          {code}
        </div>
      ))}
    </pre>
  );
}

function renderTokens(tokens: ReturnType<typeof tokenise>[number]) {
  return (
    <code>
      {tokens.map(({ kind, text }) => (kind ? <span class={`wb-${kind}`}>{text}</span> : text))}
      {"\n"}
    </code>
  );
}

/** Scroll the listing, not the page, to the first highlighted line. */
function reveal(list: HTMLElement): void {
  const line = list.querySelector<HTMLElement>(HIGHLIGHTED);
  if (!line) return;
  const top = line.offsetTop - list.offsetTop;
  // In a low window the listing reaches below the panel, whose lower end is above the status line.
  const shown = Math.min(list.clientHeight, window.innerHeight - list.getBoundingClientRect().top - 40);
  const height = Math.max(shown, 60);
  const seen = top >= list.scrollTop && top < list.scrollTop + height - 20;
  if (!seen) list.scrollTop = Math.max(0, top - height / 3);
}
