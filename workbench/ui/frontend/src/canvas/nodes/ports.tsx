// A port: colour and shape show its kind, and during an edge drag whether the edge may end there.

import type { TargetedPointerEvent } from "preact";
import { Handle, Position } from "@xyflow/react";
import { memo } from "preact/compat";
import type { PortEntry } from "../../payloads";
import { useCanvasStore, useCanvasState } from "../state/context";
import type { State } from "../state/canvasState";
import type { Side, Socket } from "../layout/geometry";
import { feedTo, refusal } from "../state/edgeDrag";

const POSITIONS: Record<Side, Position> = {
  top: Position.Top,
  bottom: Position.Bottom,
};

interface Props {
  node: string;
  port: PortEntry;
  into: boolean;
  at: Socket;
  /** Edge that ends here. */
  edge?: string;
}

/** Return `fits`, `refused`, or `fixed` (the fixed end) during an edge drag, otherwise "". */
function linkState({ linking, connect_targets: connectTargets }: State, node: string, port: string, into: boolean): string {
  if (!linking) return "";
  const own = linking.node === node && linking.port === port;
  if (own && into === (linking.fixed === "target")) return "fixed";
  if (into === (linking.fixed === "target")) return "refused";
  return refusal(connectTargets, feedTo(linking, node, port)) ? "refused" : "fits";
}

export const Port = memo(function Port({ node, port, into, at, edge }: Props) {
  const store = useCanvasStore();
  const state = useCanvasState((value) => linkState(value, node, port.name, into));
  const fed = into && port.fed;
  const id = edge ?? `${node}:${port.name}`;
  const what = `${port.name} · ${port.kind}${port.argument ? " · argument" : ""}`;

  /** Search for the edge on demand, because searching on every change would be slow. */
  const tell = (event: TargetedPointerEvent<HTMLElement>): void => {
    const own = fed ? store.edge(id) : undefined;
    const source = own ? `connected to ${own.source}.${own.output}` : "";
    const rest = port.flows || source || (port.optional ? "optional" : into ? "not connected" : "");
    event.currentTarget.dataset["tip"] = `${what}\n\n${rest}`;
  };
  /** A connected port starts a drag of its edge's end. */
  const grab = (event: MouseEvent): void => {
    if (!fed || event.button !== 0) return;
    const anchor = store.dom.root.querySelector(
      `[data-edge="${CSS.escape(id)}"] .react-flow__edgeupdater-target`,
    );
    const { clientX, clientY } = event;
    anchor?.dispatchEvent(
      new MouseEvent("mousedown", { bubbles: true, button: 0, clientX, clientY }),
    );
  };
  return (
    <Handle
      type={into ? "target" : "source"}
      id={`${into ? "in" : "out"}:${port.name}`}
      position={POSITIONS[at.side]}
      className="wb-port"
      style={{ left: at.x, top: at.y }}
      isConnectableStart={!fed}
      onMouseDown={grab}
      data-kind={port.kind}
      data-fed={port.fed || undefined}
      data-optional={port.optional || undefined}
      data-state={state || undefined}
      data-port={`${node}:${into ? "in" : "out"}:${port.name}`}
      onPointerEnter={tell}
    >
      {state === "fits" && port.name && <span className="wb-port-name">{port.name}</span>}
    </Handle>
  );
});
