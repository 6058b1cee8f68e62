// Result of comparing the preview with the exported script, bit for bit.

import { useRef } from "preact/hooks";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { Popover } from "../lib/popover";
import type { VerifiedEntry } from "../payloads";

const NOTHING: VerifiedEntry = { state: "none", text: "", detail: [], share: 0, stale: false };
const TIP =
  "Compare with the exported script\n\nRuns the script in a separate process and compares " +
  "three batches with the preview, bit for bit.";

export function Verification({ link }: { link: Link<"preview"> }) {
  const entry = { ...NOTHING, ...useField(link, "verification", {}) };
  const { state, stale } = entry;
  const running = state === "running";
  const told = state !== "none" && !running;
  const words = stale && state === "identical" ? "identical before the last edit" : entry.text;
  const start = (): void => {
    link.ask("verify", {});
  };
  return (
    <span
      class="wb-verify"
      data-wb="verification"
      data-state={state}
      data-stale={stale || undefined}
    >
      {running && (
        <>
          <span
            class="wb-meter"
            role="progressbar"
            aria-label="Comparison"
            aria-valuenow={Math.round(entry.share * 100)}
            style={{ "--share": String(entry.share) }}
          />
          <span class="wb-muted">{entry.text}</span>
          <button
            class="wb-link"
            type="button"
            data-wb="stop"
            onClick={() => link.ask("stop_verification", {})}
          >
            Stop
          </button>
        </>
      )}
      {told && <Found entry={entry} words={words} start={start} />}
      {!running && (!told || stale || state === "stopped") && (
        <button class="wb-quiet" type="button" data-wb="verify" data-tip={TIP} onClick={start}>
          Verify
        </button>
      )}
      <span class="wb-hidden" role="status">
        {told && !stale && words}
      </span>
    </span>
  );
}

interface FoundProps {
  entry: VerifiedEntry;
  words: string;
  start: () => void;
}

function Found({ entry: { state, stale, detail }, words, start }: FoundProps) {
  const pop = useRef<HTMLDivElement>(null);
  const glyph = state === "identical" ? <Icon name="check" size={14} /> : <Icon name="warn" size={13} />;
  const button = {
    class: "wb-found",
    "data-wb": "found",
    "data-tip": detail[0],
    children: [state !== "stopped" && glyph, words],
  };
  return (
    <Popover handle={pop} label="Comparison" align="end" button={button}>
      <div class="wb-found-lines">
        {stale && <p>The graph or the data has changed since.</p>}
        {detail.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      <button
        class="wb-quiet"
        type="button"
        onClick={() => {
          pop.current!.hidePopover();
          start();
        }}
      >
        Verify again
      </button>
    </Popover>
  );
}
