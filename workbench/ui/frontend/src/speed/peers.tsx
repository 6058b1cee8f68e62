// Other libraries at the same work, where they are installed.

import { useField } from "../lib/hooks";
import { Bars } from "./bars";
import { Effort, Head, StartButton, type Speed } from "./controls";

export function Peers({ link }: { link: Speed }) {
  const peers = useField(link, "limits", {}).peers ?? [];
  const absent = peers.filter(({ value }) => value);
  const none = absent.length === peers.length;
  return (
    <>
      <Head line="torchvision and OpenCV on the same files, sizes and workers, in turns with DALI.">
        <Effort link={link} />
        <StartButton
          link={link}
          words="Measure"
          run={() => link.ask("measure", { what: "peers" })}
          impossible={none ? "No peer is installed" : ""}
        />
      </Head>
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
