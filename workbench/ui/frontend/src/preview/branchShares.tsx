// How often each body of a block ran over many batches: share, confidence interval, and expected
// share.

import { WordButton } from "../lib/button";
import { FieldHead } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { thousands } from "../lib/number";
import type { BodyShareEntry, BranchSharesEntry, BlockSharesEntry } from "../payloads";

const HEADS = ["Body", "Share", "Measured", "99 % interval", "Expected", "Samples"];
const COUNTS = [100, 1_000, 10_000];
const WIDE = 256;
const TALL = 16;

export function BranchShares({ link }: { link: Link<"preview"> }) {
  const found: Partial<BranchSharesEntry> = useField(link, "branch_shares", {});
  const { blocks = [], batches = 0, samples = 0, wanted = 0, reads = false } = found;
  const { counting = false, error = "" } = found;
  if (!blocks.length && !error) return null;
  const count = (to: number): void => {
    link.ask("count_branches", { batches: to });
  };
  const more = COUNTS.filter((each) => each > batches);
  return (
    <section class="wb-branch-shares" data-wb="branch-shares" aria-label="Branch shares">
      <p class="wb-branch-shares-head">
        <span role="status" data-wb="branches-counted" aria-live={counting ? "off" : "polite"}>
          {`Branches over ${thousands(batches)} batches, ${thousands(samples)} samples`}
        </span>
        {counting ? (
          <>
            <progress
              max={wanted}
              value={batches}
              aria-label={`${batches} of ${wanted} batches counted`}
            />
            <WordButton
              label="Stop"
              name="stop-counting"
              onClick={() => count(Math.max(1, batches))}
            />
          </>
        ) : (
          more.map((each) => (
            <WordButton
              key={each}
              label={`Count ${thousands(each)}`}
              name="count-branches"
              data-batches={each}
              onClick={() => count(each)}
            />
          ))
        )}
        {reads && <span class="wb-muted">The condition depends on the data: every batch has to be read.</span>}
      </p>
      {error && (
        <p class="wb-hint" role="alert">
          <Icon name="warn" size={13} />
          {`Not counted: ${error}`}
        </p>
      )}
      <div class="wb-figures">
        {blocks.map((block) => (
          <Block key={block.block} {...block} />
        ))}
      </div>
    </section>
  );
}

function Block({ block, scope, samples, bodies, in_turns }: BlockSharesEntry) {
  const within = scope && ` that reached ${scope}${in_turns ? ", counted per repetition" : ""}`;
  const far = bodies.filter(({ agrees }) => !agrees);
  return (
    <div class="wb-figure wb-shares">
      <table>
        <caption>{`${block}: ${thousands(samples)} samples${within}`}</caption>
        <FieldHead words={HEADS} />
        <tbody>
          {bodies.map((body) => (
            <Body key={body.body} {...body} name={body.text.slice(block.length + 2)} />
          ))}
        </tbody>
      </table>
      {far.length > 0 && (
        <p class="wb-muted" data-wb="share-outside">
          {`The expected share of ${far.map(({ body }) => body).join(", ")} is outside the interval, which ` +
            "happens by chance in 1 of 100 cases."}
        </p>
      )}
    </div>
  );
}

function Body({ name, share, low, high, asked, count, agrees }: BodyShareEntry & { name: string }) {
  const found = share === null ? "no sample" : percent(share);
  const wanted = asked === null ? "" : `, expected ${percent(asked)}`;
  const said = `${name}: ${found}, between ${percent(low)} and ${percent(high)}${wanted}`;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <svg
          viewBox={`0 0 ${WIDE} ${TALL}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={said}
        >
          <path class="wb-share-axis" d={`M0 ${TALL / 2}H${WIDE}`} />
          {share !== null && <rect class="wb-share" y={4} width={share * WIDE} height={TALL - 8} />}
          <rect
            class="wb-share-interval"
            x={low * WIDE}
            width={Math.max(1.5, (high - low) * WIDE)}
            height={TALL}
          />
          {asked !== null && <path class="wb-mean" d={`M${asked * WIDE} 0V${TALL}`} />}
        </svg>
      </td>
      <td data-wb="found-share">{share === null ? "none" : percent(share)}</td>
      <td>{`${percent(low).slice(0, -2)} … ${percent(high)}`}</td>
      <td data-agrees={String(agrees)}>
        {asked === null ? "computed" : percent(asked)}
        {!agrees && (
          <span class="wb-warning">
            {" "}
            <Icon name="warn" size={11} />
            <span class="wb-hidden">, outside the interval</span>
          </span>
        )}
      </td>
      <td>{thousands(count)}</td>
    </tr>
  );
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
