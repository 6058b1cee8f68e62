// Time of the last picture, and cached memory.

import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { SheetHeader } from "../payloads";

interface Props {
  link: Link<"preview">;
  header: SheetHeader | undefined;
}

export function StatusLine({ link, header }: Props) {
  const open = useField(link, "show_statistics", false);
  return (
    <div class="wb-foot">
      <button
        class="wb-fold"
        type="button"
        data-wb="measure-values"
        aria-expanded={open}
        onClick={() => link.set("show_statistics", !open)}
      >
        <Icon name="right" size={11} />
        {`Statistics: histogram, mean, std${header?.branches.length ? "; branches" : ""}`}
      </button>
      {header ? <RenderTime {...header} /> : <span class="wb-took" data-wb="memory" tabIndex={0} />}
    </div>
  );
}

function RenderTime({ memory, milliseconds, reran }: SheetHeader) {
  const kept = memory ? ` · ${bytes(memory.host + memory.gpu)} cached` : "";
  const words = `${milliseconds.toFixed(1)} ms${kept}`;
  const lines = memory
    ? [
        `Host: ${bytes(memory.host)} of ${bytes(memory.host_budget)}`,
        memory.gpu_budget
          ? `GPU: ${bytes(memory.gpu)} of ${bytes(memory.gpu_budget)}`
          : "GPU: none",
        `Worker total: ${bytes(memory.resident)}`,
      ]
    : [];
  const ran = reran.length ? `Recomputed: ${reran.join(", ")}` : "No node was recomputed";
  return (
    <span
      class="wb-took"
      data-wb="memory"
      tabIndex={0}
      role="note"
      data-tip={`Cached between edits\n\n${[...lines, ran].join("\n")}`}
      aria-label={[words, ...lines].join(", ")}
    >
      {words}
    </span>
  );
}

function bytes(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
