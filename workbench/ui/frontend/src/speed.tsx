// Speed panel: several parts, each with the conditions of its measurement.

import type { ComponentType } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { parsePayload } from "./lib/binaryPayload";
import { component, type PanelProps } from "./lib/component";
import { download } from "./lib/files";
import { useField, useRootData } from "./lib/hooks";
import { undoKey } from "./lib/keyboard";
import { Notices } from "./lib/notice";
import { acceptDroppedFiles } from "./lib/openFile";
import { Compare } from "./speed/compare";
import { Controls, Progress, type Part, type Speed } from "./speed/controls";
import { Peers } from "./speed/peers";
import { Memory } from "./speed/memory";
import { Records } from "./speed/records";
import { Rewrites } from "./speed/rewrites";
import { Scaling } from "./speed/scaling";
import { Stages } from "./speed/stages";
import { Tune } from "./speed/tune";
import css from "./styles/speed.css";
import type { FileHeader } from "./payloads";

const PARTS: Record<Part, ComponentType<{ link: Speed }>> = {
  compare: Compare,
  stages: Stages,
  rewrites: Rewrites,
  tune: Tune,
  scaling: Scaling,
  peers: Peers,
  memory: Memory,
  records: Records,
};

function SpeedLab({ link, root }: PanelProps<"speed">) {
  const open = useField(link, "part", "compare");
  const running = useField(link, "running", false);
  useRootData(root, "part", open);
  useRootData(root, "running", running ? "true" : undefined);
  useLayoutEffect(() => {
    root.addEventListener("keydown", (event) => undoKey(event, (action) => link.ask(action, {})));
    link.on("file", () => {
      const file = parsePayload<FileHeader>(link.get("file", new ArrayBuffer(0)));
      // Another view of the same panel may have requested it.
      if (file?.header.view === link.view) download(file.header.name, file.payload, file.header.mime);
    });
    return acceptDroppedFiles(root, (file) => link.ask("open", file));
  }, [root, link]);
  return (
    <>
      <Controls link={link} />
      <div class="wb-speed-body">
        {Object.entries(PARTS).map(([name, Part]) => (
          <div key={name} class="wb-speed-part" data-part={name} hidden={name !== open}>
            <Part link={link} />
          </div>
        ))}
      </div>
      <Notices>
        <Progress link={link} />
      </Notices>
    </>
  );
}

export default component("speed", css, SpeedLab, "wb-panel");
