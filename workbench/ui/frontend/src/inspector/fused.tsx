// Suggestion to replace an `if` by an equivalent operator, with an optional speed comparison.

import { WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import type { FusedSpeedEntry } from "../payloads";

interface Props {
  link: Link<"inspector">;
  block: string;
  /** Name of the equivalent operator. */
  op: string;
}

export function Fused({ link, block, op }: Props) {
  const speed: Partial<FusedSpeedEntry> = useField(link, "fused_speed", {});
  const own = speed.block === block;
  const running = own && speed.state === "running";
  return (
    <div class="wb-block-fused" data-wb="fused" role="group" aria-label={`${op} without ${block}`}>
      <p>
        <b>{op}</b> can produce the same pixels without the if. The coin flip then sets its arguments, and the
        operator runs on every sample instead of only on some. Random values do not change.
      </p>
      <div>
        <button
          class="wb-quiet"
          type="button"
          data-wb="fuse"
          onClick={() => link.ask("fuse", { node: block })}
        >
          Use {op}
        </button>
        <WordButton
          label={running ? "Stop" : "Measure both"}
          name="measure-fused"
          data-tip="Measure both exported scripts on your photos, in alternating rounds"
          onClick={() => {
            if (running) link.ask("stop_fused", {});
            else link.ask("measure_fused", { block });
          }}
        />
      </div>
      {own && <Figures speed={speed} />}
    </div>
  );
}

function Figures({ speed }: { speed: Partial<FusedSpeedEntry> }) {
  const { state, text = "", share = 0, rows = [], ratio = "", stale } = speed;
  if (state === "running") {
    return <p role="status">{`${Math.round(share * 100)} % · ${text}`}</p>;
  }
  if (state !== "done") return <p role="status">{text}</p>;
  return (
    <div role="status" data-wb="fused-figures">
      <table>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td>
                {row.figure} <small>{row.interval}</small>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {ratio && (
        <p>
          {`fused: ${ratio} × the speed of the if`}
          {stale && ", for an earlier graph or other data"}
        </p>
      )}
    </div>
  );
}
