// Header of the inspector: name of the node, device, errors.

import type { InspectorView } from "../payloads";
import { Select } from "../lib/fields";
import { Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { InteractionGuard } from "./interactionGuard";
import { Block } from "./block";

const SIDES: Record<string, string> = { cpu: "CPU", gpu: "GPU", mixed: "mixed (CPU and GPU)" };

interface Props {
  link: Link<"inspector">;
  view: Partial<InspectorView>;
}

export function NodeHeader({ link, view, guard }: Props & { guard: InteractionGuard }) {
  const { op = "", id = "", label = "", doc = "", selected = 0, feeds = [] } = view;
  const { caution = "" } = view;
  return (
    <div class="wb-inspector-head wb-reveals">
      <p class="wb-inspector-many" data-wb="many" hidden={selected <= 1}>
        {selected > 1 && `${selected} selected, showing the last`}
      </p>
      <div class="wb-inspector-title">
        <h3 data-tip={label && label !== op ? `${id} · ${label}` : id}>
          {op.startsWith("opaque.") ? label : op}
        </h3>
        <span class="wb-inspector-id">{id !== op && id}</span>
        <Mute link={link} view={view} />
      </div>
      <p class="wb-inspector-doc" data-tip={doc.length > 150 ? doc : undefined}>
        {doc}
      </p>
      <p class="wb-inspector-doc" hidden={!view.augments}>
        Runs for every image.{" "}
        <button
          class="wb-link"
          type="button"
          data-wb="with-probability"
          data-tip="Wrap in an if with a coin flip (i on the canvas)"
          onClick={() => link.ask("wrap", { nodes: [id], op: "if" })}
        >
          Apply with probability
        </button>
      </p>
      <p class="wb-inspector-doc" data-wb="feeds" hidden={!feeds.length}>
        {feeds.length > 0 && `Feeds ${feeds.join(", ")}.`}
      </p>
      <p class="wb-inspector-caution" data-wb="caution" hidden={!caution}>
        <Icon name="warn" size={12} />
        <span>{caution}</span>
      </p>
      <Block link={link} view={view} guard={guard} />
    </div>
  );
}

/** Button to mute or unmute the node. */
function Mute({ link, view }: Props) {
  const { id = "", muted = false } = view;
  const label = muted ? `Unmute ${id}` : `Mute ${id}`;
  return (
    <button
      type="button"
      class="wb-ico wb-inspector-mute wb-reveal"
      hidden={!id}
      data-wb="mute"
      aria-label={label}
      aria-pressed={muted}
      data-tip={muted ? "Unmute (m)" : "Mute: exclude the node from the run (m)"}
      onClick={() => link.ask("mute", { nodes: [id], muted: !muted })}
    >
      <Icon name="mute" size={15} />
    </button>
  );
}

/** Menu to select the node's device. */
export function Device({ link, view }: Props) {
  const { id = "", devices = [], device = "", device_set: told = "", follows = "" } = view;
  const side = SIDES[device] ?? device;
  const usual = follows === "on the CPU" ? side : `${side}: ${follows}`;
  return (
    <label class="wb-runs" hidden={!devices.length}>
      runs on
      <Select
        class="wb-dist wb-side"
        data-wb="device"
        data-set={told ? "true" : undefined}
        options={[
          ["", told ? follows : usual],
          ...devices.map((name) => [name, SIDES[name] ?? name] as const),
        ]}
        value={told}
        choose={(to, el) => {
          link.ask("device", { node: id, device: to });
          el.value = told; // until Python confirms it
        }}
      />
    </label>
  );
}
