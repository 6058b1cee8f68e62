// Rewrites that make the graph faster, each with its speed-up and pixel differences.

import { useState } from "preact/hooks";
import type { RewriteEntry, RewritesView } from "../payloads";
import { WordButton } from "../lib/button";
import { Select } from "../lib/fields";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Head, StartButton, TimeLimit, Unmeasured, type Speed } from "./controls";
import { PartialMark } from "./notes";
import { isStale, Provenance } from "./provenance";
import { Table, Wide } from "./table";

const OBJECTIVES = [["speed", "for speed"], ["memory", "for memory"]] as const;

export function Rewrites({ link }: { link: Speed }) {
  const view = useField(link, "rewrites", {}) as Partial<RewritesView>;
  const known = !!view.on?.length;
  const [seconds, setSeconds] = useState(0);
  const [objective, setObjective] = useState("speed");
  return (
    <>
      <Head line="Equivalent graphs, each measured and compared with the current graph on your data.">
        <Select
          class="wb-val wb-speed-limit"
          name="Objective"
          data-wb="objective"
          options={OBJECTIVES}
          value={objective}
          choose={setObjective}
        />
        <TimeLimit limit={seconds} choose={setSeconds} />
        <StartButton
          link={link}
          words="Find"
          what="rewrites"
          limit={seconds}
          run={() => link.ask("measure", { what: "rewrites", seconds, objective })}
        />
      </Head>
      <div data-wb="figure" data-stale={isStale(view.on)} hidden={!known}>
        {known && <Figure view={view as RewritesView} link={link} />}
      </div>
      <Unmeasured link={link} part="rewrites" hidden={known}>
        No rewrites measured yet. Exact rewrites produce identical output; near ones differ slightly, with a PSNR of
        at least 35 dB. Random values stay the same. Slower graphs are not proposed.
      </Unmeasured>
    </>
  );
}

const isUnmeasured = (reason: string): boolean => reason.startsWith("not measured");

function Figure({ view, link }: { view: RewritesView; link: Speed }) {
  const proposed = view.rewrites.filter(({ rejected }) => !rejected);
  const rejected = view.rewrites.filter(({ rejected }) => rejected);
  const open = proposed.filter(({ taken }) => !taken);
  const record = view.on[0]?.id ?? "";
  const take = (names: string[]): void => {
    link.ask("take_rewrites", { record, names });
  };
  const kinds = new Set(open.map(({ kind }) => kind));
  if (view.on[0]?.partial) return <RewriteProgress view={view} />;
  return (
    <>
      <div class="wb-speed-won">
        <div>
          <p class="wb-speed-best" data-wb="total">
            {view.total ? (
              <>
                All together <b>{view.total}</b>
              </>
            ) : !open.length && rejected.some(({ rejected: why }) => isUnmeasured(why)) ? (
              "No rewrite was proposed, and not all were measured."
            ) : (
              "No rewrite makes this graph faster."
            )}
          </p>
          <p class="wb-muted">{view.control && `unchanged graph ${view.control}`}</p>
          <SearchNotes notes={view.notes} />
        </div>
        <button
          class="wb-btn"
          type="button"
          data-wb="take-all"
          hidden={!open.length}
          onClick={() => take([])}
        >
          Apply all
        </button>
        <WordButton
          label="Apply exact ones"
          name="take-exact"
          hidden={kinds.size < 2}
          onClick={() => take(["exact"])}
        />
      </div>
      <Wide label="Rewrites" hidden={!proposed.length}>
        <Table
          caption="Rewrites"
          heads={["rewrite", "pixels", "gain", "differs", ""]}
          lines={proposed.map((one) => [
            <span class="wb-speed-wraps" title={one.law}>
              {one.title}
              {one.needs.length > 0 && <small>{`with: ${one.needs.join(", ")}`}</small>}
              <br />
              <Nodes nodes={one.nodes} show={(node) => link.ask("select", { node })} />
            </span>,
            one.kind,
            <span>
              {one.gain}
              <br />
              <small>{one.low}</small>
            </span>,
            <span class="wb-speed-wraps">{one.pixels}</span>,
            <ApplyButton one={one} take={() => take([one.name])} />,
          ])}
        />
      </Wide>
      {proposed.map((one) => (
        <Worst key={one.name} one={one} />
      ))}
      <details class="wb-fold wb-speed-fold" hidden={!rejected.length}>
        <summary>{`Not proposed: ${rejected.length}`}</summary>
        <ul>
          {rejected.map(({ name, title, pixels, rejected: why }) => (
            <li key={name}>{`${title}: ${why}${pixels && isUnmeasured(why) ? `; ${pixels}` : ""}`}</li>
          ))}
        </ul>
      </details>
      <Provenance all={view.on} />
    </>
  );
}

/** Progress of an unfinished run: results so far of each rewrite, without buttons to apply them. */
function RewriteProgress({ view }: { view: RewritesView }) {
  return (
    <>
      <PartialMark all={view.on} />
      <Wide label="Rewrites so far" hidden={!view.rewrites.length}>
        <Table
          caption="Rewrites so far"
          heads={["rewrite", "pixels", "speed-up so far", "differs"]}
          lines={view.rewrites.map((one) => {
            const unknown = one.rejected ? "–" : "not yet";
            return [
              <span class="wb-speed-wraps" title={one.law}>
                {one.title}
                {one.rejected && <br />}
                <small>{one.rejected && (isUnmeasured(one.rejected) ? "" : "not proposed: ") + one.rejected}</small>
              </span>,
              one.kind,
              <span>
                {one.gain || unknown}
                <br />
                <small>{one.low}</small>
              </span>,
              <span class="wb-speed-wraps">{one.pixels || unknown}</span>,
            ];
          })}
        />
      </Wide>
      <SearchNotes notes={view.notes} />
      <Provenance all={view.on} />
    </>
  );
}

function SearchNotes({ notes }: { notes: string[] }) {
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="wb-muted" data-wb="search-note">
          {note}
        </p>
      ))}
    </>
  );
}

function Nodes({ nodes, show }: { nodes: string[]; show: (node: string) => void }) {
  return (
    <span>
      {nodes.map((node, at) => (
        <span key={node}>
          {at > 0 && ", "}
          <button type="button" class="wb-link" data-node={node} onClick={() => show(node)}>
            {node}
          </button>
        </span>
      ))}
    </span>
  );
}

function ApplyButton({ one, take }: { one: RewriteEntry; take: () => void }) {
  if (one.taken) {
    return (
      <span class="wb-speed-used">
        <Icon name="check" size={14} />
        done
      </span>
    );
  }
  return (
    <WordButton
      label="Apply"
      name="take"
      data-rewrite={one.name}
      aria-label={`Apply: ${one.title}`}
      onClick={take}
    />
  );
}

/** Samples that differ most from the original, before and after. */
function Worst({ one }: { one: RewriteEntry }) {
  if (!one.worst.length) return null;
  return (
    <div class="wb-rewrite-worst" data-rewrite={one.name}>
      <p class="wb-muted">{`${one.title}, largest difference, before and after:`}</p>
      {one.worst.map(({ name, before, after }) => (
        <figure key={name}>
          <img src={before} alt={`${name}, before`} />
          <img src={after} alt={`${name}, after`} />
          <figcaption>{name}</figcaption>
        </figure>
      ))}
    </div>
  );
}
