// CPU and mixed decoding, decoding alone and the whole pipeline; optionally with the bars of
// another record.

import { useState } from "preact/hooks";
import { IconButton } from "../lib/button";
import { Select } from "../lib/fields";
import { copyText } from "../lib/files";
import { useChange, useField } from "../lib/hooks";
import { Icon } from "../lib/icons";
import { Bars } from "./bars";
import { Effort, Head, OpenRecord, StartButton, Unmeasured, type Speed } from "./controls";

export function Compare({ link }: { link: Speed }) {
  const view = useField(link, "compare", {});
  const { mixed = "" } = useField(link, "limits", {});
  return (
    <>
      <Head line="Compare CPU and mixed decoding: decoding alone, and the whole pipeline.">
        <ComparedRecord link={link} shown={view.on?.[0]?.id ?? ""} />
        <Effort link={link} />
        <StartButton
          link={link}
          words="Measure"
          what="compare"
          run={() => link.ask("measure", { what: "compare" })}
        />
      </Head>
      <Bars {...view} stated={mixed} />
      <Unmeasured link={link} part="compare" hidden={!!view.on?.length}>
        Not measured yet. Measure runs the exported script with each decoder, in alternating rounds and
        new processes.
      </Unmeasured>
      <GpuCommand link={link} />
    </>
  );
}

/** Menu to select another record whose bars are added. */
function ComparedRecord({ link, shown }: { link: Speed; shown: string }) {
  const overlay = useField(link, "overlay", "");
  const others = useField(link, "records", []).filter(
    ({ part, id }) => part === "compare" && id !== shown,
  );
  return (
    <label class="wb-control wb-speed-beside" hidden={!shown || !others.length}>
      compare with
      <Select
        name="Record to compare with"
        data-wb="overlay"
        options={[
          ["", "none"],
          ...others.map(({ id, name, machine }) => [id, `${name} · ${machine}`] as const),
        ]}
        value={overlay}
        choose={(id) => link.set("overlay", id)}
      />
    </label>
  );
}

/** Command for a machine with a GPU, if this one has none. */
function GpuCommand({ link }: { link: Speed }) {
  const { mixed = "", command = "", hint = "" } = useField(link, "limits", {});
  const [said, say] = useState("");
  useChange(() => say(""), [command]);
  const copy = async (): Promise<void> =>
    say((await copyText(command)) ? "Copied." : "The browser denied access to the clipboard.");
  return (
    <section class="wb-speed-elsewhere" data-wb="elsewhere" hidden={!command}>
      <p>
        <Icon name="warn" size={13} />
        <span>
          Mixed decoding is not available: <span>{mixed}</span>. It can be measured on a machine with a
          GPU. {hint} Run this command there:
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
      <p class="wb-speed-after">
        Then open the record that it writes: <OpenRecord link={link} />
      </p>
    </section>
  );
}
