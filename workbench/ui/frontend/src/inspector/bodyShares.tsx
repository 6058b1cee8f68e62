// How often a body of a block ran: in the current batch, and over the counted batches.

import { WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import { thousands } from "../lib/number";
import type { InspectedSharesEntry } from "../payloads";

type Shares = Partial<InspectedSharesEntry>;
const BATCHES = 1000;

export function BodyShare({ link, body }: { link: Link<"inspector">; body: string }) {
  const { shown = {}, shown_of: of = 0, counted = [] }: Shares = useField(link, "shares", {});
  const came = shown[body];
  const share = counted.find((each) => each.body === body);
  if (came === undefined || !of) return null;
  return (
    <span class="wb-block-share" data-wb="body-share">
      <span class="wb-muted">{`${came} of ${of} in this batch`}</span>
      {share && share.share !== null && (
        <span data-wb="counted-share" data-agrees={String(share.agrees)}>
          {` · ${percent(share.share)} measured, ${percent(share.low)} to ${percent(share.high)}` +
            (share.asked === null ? "" : `, expected ${percent(share.asked)}`)}
        </span>
      )}
    </span>
  );
}

export function CountShares({ link }: { link: Link<"inspector"> }) {
  const shares: Shares = useField(link, "shares", {});
  const { batches = 0, counting = false, counted = [], shown_of: of = 0 } = shares;
  if (!of) return null;
  return (
    <span class="wb-block-share">
      <WordButton
        label={`Count over ${thousands(BATCHES)} batches`}
        name="count-shares"
        data-tip="Shows the share with its 99 % confidence interval"
        aria-disabled={counting}
        onClick={() => {
          if (!counting) link.ask("count_branches", { batches: BATCHES });
        }}
      />
      <span class="wb-muted" role="status" aria-live={counting ? "off" : "polite"}>
        {counted.length > 0 && `${thousands(batches)} batches${counting ? " so far" : " counted"}`}
      </span>
    </span>
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
