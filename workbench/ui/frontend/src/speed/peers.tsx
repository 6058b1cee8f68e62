// Comparison with the selected ones of the other installed libraries.

import { useState } from "preact/hooks";
import { useField } from "../lib/hooks";
import { Bars } from "./bars";
import { Effort, Head, StartButton, type Speed } from "./controls";

export function Peers({ link }: { link: Speed }) {
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const { peers = [], peer_seconds: seconds = {} } = useField(link, "limits", {});
  const present = peers.filter(({ value }) => !value).map(({ name }) => name);
  const absent = peers.filter(({ value }) => value);
  const chosen = present.filter((name) => !left.has(name));
  const most = seconds[useField(link, "effort", "usual")];
  const tick = (name: string) =>
    setLeft((names) => {
      const others = [...names].filter((other) => other !== name);
      return new Set(names.has(name) ? others : [...others, name]);
    });
  return (
    <>
      <Head
        line={`The same pipeline in other libraries, each with its fastest number of workers, alternating with DALI${
          most ? `. At most ${most} s for each library, twice that for DALI` : ""
        }.`}
      >
        <Effort link={link} />
        <StartButton
          link={link}
          words="Measure"
          run={() => link.ask("measure", { what: "peers", peers: chosen })}
          impossible={impossible(present, chosen)}
        />
      </Head>
      <div class="wb-speed-chosen" role="group" aria-label="Libraries" hidden={!present.length}>
        {present.map((name) => (
          <label key={name} class="wb-control">
            <input
              type="checkbox"
              data-wb="peer"
              checked={!left.has(name)}
              onChange={() => tick(name)}
            />
            {name}
          </label>
        ))}
      </div>
      <Bars {...useField(link, "peers", {})} />
      <dl class="wb-speed-peers" data-wb="peers" hidden={!absent.length}>
        {absent.map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function impossible(present: readonly string[], chosen: readonly string[]): string {
  if (!present.length) return "None of these libraries is installed";
  return chosen.length ? "" : "Select one or more libraries";
}
