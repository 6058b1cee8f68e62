// CPU against mixed decoding, decode alone and the whole pipeline; another record's bars beside it.

import { useState } from "preact/hooks";
import { IconButton } from "../lib/button";
import { Select } from "../lib/fields";
import { copyText } from "../lib/files";
import { useChange, useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Bars } from "./bars";
import { Effort, Head, StartButton, type Speed } from "./controls";
import { OpenButton } from "./openRecord";

export function Compare({ link }: { link: Speed }) {
  const view = useField(link, "compare", {});
  return (
    <>
      <Head line="CPU against mixed decoding, decoding alone and the whole pipeline.">
        <Beside link={link} shown={view.on?.[0]?.id ?? ""} />
        <Effort link={link} />
        <StartButton
          link={link}
          words="Measure"
          what="compare"
          run={() => link.ask("measure", { what: "compare" })}
        />
      </Head>
      <Bars {...view} />
      <p class="wb-empty" hidden={!!view.on?.length}>
        Not compared yet. Measure runs the exported script with each decoder, in turns, in fresh
        processes.
      </p>
      <Elsewhere link={link} />
    </>
  );
}

/** Another record whose bars stand among those of the one that is shown. */
function Beside({ link, shown }: { link: Speed; shown: string }) {
  const overlay = useField(link, "overlay", "");
  const others = useField(link, "records", []).filter(
    ({ part, id }) => part === "compare" && id !== shown,
  );
  return (
    <label class="wb-control wb-speed-beside" hidden={!shown || !others.length}>
      beside it
      <Select
        name="Record beside it"
        data-wb="overlay"
        options={[
          ["", "no other"],
          ...others.map(({ id, name, machine }) => [id, `${name} · ${machine}`] as const),
        ]}
        value={overlay}
        choose={(id) => link.set("overlay", id)}
      />
    </label>
  );
}

/** What to do on a machine that has a GPU, where this one has none. */
function Elsewhere({ link }: { link: Speed }) {
  const { mixed = "", command = "", hint = "" } = useField(link, "limits", {});
  const [said, say] = useState("");
  useChange(() => say(""), [command]);
  const copy = async (): Promise<void> =>
    say((await copyText(command)) ? "Copied." : "The browser did not allow copying.");
  return (
    <section class="wb-speed-elsewhere" data-wb="elsewhere" hidden={!command}>
      <p>
        <Icon name="warn" size={13} />
        <span>
          No mixed decoding on this machine: <span>{mixed}</span>. On a machine with a GPU run
        </span>
      </p>
      <div class="wb-speed-command">
        <code data-wb="command">{command}</code>
        <IconButton label="Copy the command" name="copy-command" onClick={() => void copy()}>
          <Icon name="copy" size={14} />
        </IconButton>
        <span class="wb-muted" role="status">
          {said}
        </span>
      </div>
      <p class="wb-muted" hidden={!hint}>
        {hint}
      </p>
      <p class="wb-speed-after">
        and open its record here, beside this one: <OpenButton link={link} />
      </p>
    </section>
  );
}
