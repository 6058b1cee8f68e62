// Memory and decoders, predicted from the headers of the data.

import { WordButton } from "../lib/button";
import { useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import type { PredictionView } from "../payloads";
import { Head, type Speed } from "./controls";
import { Notes } from "./notes";
import { Table, Wide } from "./table";

export function Memory({ link }: { link: Speed }) {
  return (
    <>
      <Predicted
        link={link}
        what="memory"
        line="Peak memory of the exported script for the typical and the worst batch, from the image headers."
        words="Predict memory"
      />
      <Predicted
        link={link}
        what="decoders"
        line="Which images the JPEG engines of a GPU decode, which CUDA or the CPU decodes, and why."
        words="Find decoders"
      />
    </>
  );
}

interface Props {
  link: Speed;
  what: "memory" | "decoders";
  line: string;
  words: string;
}

function Predicted({ link, what, line, words }: Props) {
  const view = useField(link, what, {}) as Partial<PredictionView>;
  const running = view.state === "running";
  const { heads = [], rows = [], notes = [], warning, stale } = view;
  return (
    <section class="wb-speed-predicted" data-wb={what}>
      <Head line={line}>
        <button class="wb-btn" type="button" data-wb="predict" onClick={() => link.ask("predict", { what })}>
          {running ? "Cancel" : words}
        </button>
      </Head>
      <p class="wb-speed-fact" role="status" hidden={!view.text}>
        {view.text}
      </p>
      <p class="wb-notice" data-kind="warning" hidden={!warning}>
        <Icon name="warn" size={14} /> {warning}
      </p>
      <div hidden={view.state !== "done"}>
        <p class="wb-speed-fact" data-wb="stale" hidden={!stale}>
          These figures are for an earlier graph or other data.
        </p>
        <Wide label={words}>
          <Table
            caption={line}
            heads={heads}
            lines={rows.map(({ cells: [first, ...rest], node }) => [
              node ? (
                <WordButton key={node} label={first!} name="node" onClick={() => link.ask("select", { node })} />
              ) : (
                first
              ),
              ...rest,
            ])}
          />
        </Wide>
        <Notes words={notes} />
      </div>
    </section>
  );
}
