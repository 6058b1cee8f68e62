// Statistics of the batch: histogram, mean and standard deviation per channel.

import { FieldHead } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { ChannelStatistics, OutputStatistics } from "../payloads";
import { BranchShares } from "./branchShares";
import { valueText } from "./pixelValues";

const MOST_CHANNELS = 16;
const WIDE = 256;
const TALL = 40;
const COLOURS = ["var(--red)", "var(--green)", "var(--blue)"];
const NAMES = ["R", "G", "B"];
const HEADS = ["Channel", "Histogram", "Mean", "Std", "Min", "Max"];

export function Statistics({ link }: { link: Link<"preview"> }) {
  const shown = useField(link, "show_statistics", false);
  const entries = useField(link, "statistics", []);
  const counting = useField(link, "statistics_pending", false);
  const reason = useField(link, "statistics_error", "");
  const none = !entries.length;
  const waiting = counting ? "Computing …" : none ? "Computed after the first picture." : "";
  return (
    <div data-wb="statistics" data-late={(counting && !none) || undefined} hidden={!shown}>
      <div class="wb-figures">
        {entries.map((entry) => (
          <Output key={entry.output} entry={entry} />
        ))}
      </div>
      <p
        class="wb-statistics-pending"
        data-wb="statistics-pending"
        role={reason ? "alert" : undefined}
      >
        {reason ? (
          <>
            <Icon name="warn" size={13} />
            {`Not computed: ${reason} `}
            <button class="wb-link" type="button" onClick={() => link.ask("retry", {})}>
              Try again
            </button>
          </>
        ) : (
          waiting
        )}
      </p>
      <BranchShares link={link} />
    </div>
  );
}

function Output({ entry }: { entry: OutputStatistics }) {
  const left = entry.channels.length - MOST_CHANNELS;
  return (
    <section class="wb-figure">
      {entry.hint && (
        <p class="wb-hint" role="status" data-wb="hint">
          <Icon name="warn" size={13} />
          {entry.hint}
        </p>
      )}
      <table>
        <caption>{`${entry.output}: ${entry.dtype}, ${entry.samples} samples`}</caption>
        <FieldHead words={HEADS} />
        <tbody>
          {entry.channels.slice(0, MOST_CHANNELS).map((channel, at) => (
            <Channel key={at} entry={entry} channel={channel} at={at} />
          ))}
        </tbody>
      </table>
      {left > 0 && <p class="wb-muted">{`and ${left} more channels`}</p>}
    </section>
  );
}

interface ChannelProps {
  entry: OutputStatistics;
  channel: ChannelStatistics;
  at: number;
}

function Channel({ entry, channel, at }: ChannelProps) {
  const coloured = entry.channels.length === 3;
  const odd = channel.not_finite ? ` (${channel.not_finite} not finite)` : "";
  const { mean, deviation, smallest, largest } = channel;
  return (
    <tr>
      <th scope="row">
        {coloured ? NAMES[at] : at}
        {odd}
      </th>
      <td>
        <Histogram
          entry={entry}
          channel={channel}
          colour={coloured ? COLOURS[at]! : "var(--ink2)"}
        />
      </td>
      {[mean, deviation, smallest, largest].map((value, place) => (
        <td key={place}>{value === null ? "none" : valueText(Number(value.toPrecision(4)))}</td>
      ))}
    </tr>
  );
}

interface HistogramProps {
  entry: OutputStatistics;
  channel: ChannelStatistics;
  colour: string;
}

/** Bars from the low to the high end, with mean ± one standard deviation. */
function Histogram({ entry, channel, colour }: HistogramProps) {
  const { counts, mean, deviation } = channel;
  // The end bins often contain all clipped values, which must not determine the scale.
  const inner = Math.max(...counts.slice(1, -1), 1);
  const most = Math.min(Math.max(...counts, 1), inner * 2);
  const step = WIDE / counts.length;
  const bars = counts
    .map((count, at) => {
      const tall = Math.min(1, count / most) * TALL;
      return `M${at * step} ${TALL}v${-tall}h${step}v${tall}`;
    })
    .join("");
  const place = (value: number): number =>
    ((value - entry.low) / (entry.high - entry.low || 1)) * WIDE;
  const said = mean === null ? "no finite values" : `mean ${valueText(Number(mean.toPrecision(4)))}`;
  return (
    <div class="wb-histogram">
      <span>{valueText(entry.low)}</span>
      <div>
        <svg
          viewBox={`0 0 ${WIDE} ${TALL}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`From ${entry.low} to ${entry.high}, ${said}`}
        >
          <path d={bars} fill={colour} opacity={0.75} />
          {mean !== null && deviation !== null && (
            <>
              <rect
                x={place(mean - deviation)}
                y={0}
                width={place(mean + deviation) - place(mean - deviation)}
                height={TALL}
                class="wb-spread"
              />
              <path d={`M${place(mean)} 0V${TALL}`} class="wb-mean" />
            </>
          )}
        </svg>
      </div>
      <span>{valueText(entry.high)}</span>
    </div>
  );
}
