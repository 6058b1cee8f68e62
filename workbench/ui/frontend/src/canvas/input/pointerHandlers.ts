// Mouse handlers of the canvas.

import type {
  Connection,
  Edge,
  FinalConnectionState,
  NodeChange,
  OnConnectStartParams,
} from "@xyflow/react";
import type { EdgeEntry } from "../../payloads";
import type { Place } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import { dropTargetAt, drop } from "../edges/edgeDrop";
import type { BoxFlow, LineFlow } from "../state/flowElements";
import { isOutput, type Point } from "../layout/geometry";
import { feedTo, portOf, refusal } from "../state/edgeDrag";
import { edgeUnder } from "../edges/edgeUnderNode";
import { leastSpot, placements } from "../layout/movedSpots";

/** Maximum distance in pixels between press and release of a click. */
export const CLICK_DISTANCE = 4;

const boxAt = (target: EventTarget | null): string =>
  (target as Element).closest<HTMLElement>(".react-flow__node")?.dataset["id"] ?? "";

/** Handlers as constant properties, so that passing them causes no rendering. */
export class PointerHandlers {
  constructor(
    private store: CanvasStore,
    /** Stop automatic panning and zooming, so that boxes do not move under the pointer. */
    private stay: () => void,
  ) {}

  readonly change = (changes: NodeChange<BoxFlow>[]): void => {
    const { store } = this;
    const old = store.get();
    const moves = changes.flatMap((change) =>
      change.type === "position" && change.position ? [change] : [],
    );
    if (moves.length) {
      const moved = new Map(old.moved);
      for (const { id, position } of moves) moved.set(id, position!);
      store.set({ moved, dragging: moves.some((change) => change.dragging) });
    }
    let selected = [...old.selected];
    const picked = new Set(old.picked);
    let chosen = false;
    for (const change of changes) {
      if (change.type !== "select") continue;
      chosen = true;
      if (isOutput(change.id)) {
        if (change.selected) picked.add(change.id);
        else picked.delete(change.id);
      } else {
        selected = selected.filter((id) => id !== change.id);
        if (change.selected) selected.push(change.id);
      }
    }
    if (chosen) store.select(selected, picked);
  };

  /** A click on one of several selected boxes selects only that box. */
  readonly click = (event: MouseEvent, node: Pick<BoxFlow, "id">): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (isOutput(node.id)) this.store.select([], new Set([node.id]));
    else this.store.select([node.id]);
  };

  readonly press = ({ target, clientX: x, clientY: y }: PointerEvent): void => {
    this.pressed = { id: boxAt(target), x, y };
  };
  private pressed = { id: "", x: 0, y: 0 };

  /** Select the box on which a click began if a new view has moved it from under the pointer. */
  readonly release = (event: MouseEvent): void => {
    const { id, x, y } = this.pressed;
    if (!id || boxAt(event.target)) return;
    if (Math.hypot(event.clientX - x, event.clientY - y) > CLICK_DISTANCE) return;
    event.stopPropagation();
    this.click(event, { id });
  };

  readonly pane = (): void => this.store.select([]);

  /** Double click on empty canvas. */
  readonly doubleClick = (event: MouseEvent): void => {
    if (!(event.target as Element).classList.contains("react-flow__pane")) return;
    this.find({ do: "add", after: "" }, event);
  };

  readonly edgeDoubleClick = (event: MouseEvent, edge: LineFlow): void =>
    this.find({ do: "add_on", edge: edge.id }, event);

  private find(place: Place, { clientX: x, clientY: y }: MouseEvent): void {
    this.store.set({ popup: { kind: "search", place, at: { x, y } } });
  }

  readonly pick = (event: MouseEvent, edge: LineFlow): void => {
    const more = event.ctrlKey || event.metaKey || event.shiftKey;
    const { selected, picked } = this.store.get();
    this.store.select(more ? selected : [], new Set(more ? [...picked, edge.id] : [edge.id]));
  };

  readonly enter = (_: MouseEvent, edge: LineFlow): void => {
    if (!this.store.get().dragging) this.store.set({ hovered: edge.id });
  };

  readonly leave = (_: MouseEvent, edge: LineFlow): void => {
    if (this.store.get().hovered === edge.id) this.store.set({ hovered: "" });
  };

  readonly drag = (event: MouseEvent | TouchEvent, node: BoxFlow): void => {
    this.store.set({ hovered: this.splices(event, node) ? this.under(node) : "" });
  };

  readonly dropNode = (event: MouseEvent | TouchEvent, node: BoxFlow): void => {
    const { store } = this;
    const edge = this.splices(event, node) ? this.under(node) : "";
    store.set({ hovered: "", dragging: false });
    const { moved } = store.get();
    if (!edge) {
      if (moved) this.place(moved);
      return;
    }
    const positions = moved && this.isByHand(node.id) ? placements(this.store.layout, moved) : {};
    const asked = store.link.ask("splice", { node: node.id, edge, positions });
    // In automatic layout, the position is computed.
    if (!asked || !Object.keys(positions).length) store.set({ moved: null });
  };

  /** Return whether boxes in the body of a node have manual positions. */
  private isByHand(id: string): boolean {
    const { boxes, scopes } = this.store.layout;
    const { positions } = this.store.get();
    return boxes.some((box) => scopes.get(box.id) === scopes.get(id) && positions[box.id]);
  }

  readonly start = (): void => this.stay();

  readonly nudge = (dx: number, dy: number): void => {
    const { selected, picked, moved } = this.store.get();
    const { settled, scopes, corners } = this.store.layout;
    const chosen = [...selected, ...[...picked].filter(isOutput)];
    const next = new Map(moved);
    for (const id of chosen) {
      const at = settled.get(id);
      if (!at || corners.has(id)) continue; // the bar of a body stays
      const corner = corners.get(scopes.get(id) ?? "");
      const least = corner ? leastSpot(corner) : { x: -Infinity, y: -Infinity };
      next.set(id, { x: Math.max(least.x, at.x + dx), y: Math.max(least.y, at.y + dy) });
    }
    if (!next.size) return;
    this.stay();
    this.store.set({ moved: next });
    this.place(next);
  };

  private place(moved: ReadonlyMap<string, Point>): void {
    const positions = placements(this.store.layout, moved);
    const asked = this.store.link.ask("place", { positions });
    if (!asked) this.store.set({ moved: null });
  }

  /** Return whether a drop moves the node to another edge; connected nodes require Alt. */
  private splices({ altKey }: MouseEvent | TouchEvent, { id }: BoxFlow): boolean {
    const joined = ({ source, target, argument }: EdgeEntry): boolean =>
      source === id || (target === id && !argument);
    return altKey || !this.store.get().edges.some(joined);
  }

  private under({ id, position, width = 0, height = 0 }: BoxFlow): string {
    if (isOutput(id)) return "";
    const middle = { x: position.x + width / 2, y: position.y + height / 2 };
    const { routes, scopes } = this.store.layout;
    const isNoPlace = (edge: string): boolean => {
      const entry = this.store.edge(edge);
      const own = !entry || entry.source === id || entry.target === id;
      return own || scopes.get(edge) !== scopes.get(id);
    };
    return edgeUnder(routes, middle, isNoPlace);
  }

  readonly relink = (_: unknown, edge: LineFlow): void => {
    this.store.set({ linking: { fixed: "source", node: "", port: "", edge: edge.id } });
  };

  readonly link = (_: unknown, { nodeId, handleId, handleType }: OnConnectStartParams): void => {
    const { store } = this;
    const edge = store.get().linking?.edge ?? "";
    const [node, port] = [nodeId ?? "", portOf(handleId)];
    store.set({ linking: { fixed: handleType ?? "source", node, port, edge } });
    if (handleType === "source") store.link.ask("connect_targets", { node, output: port, edge });
    this.watchRelease();
  };

  /** Handle a mouse button released outside a shadow root, which React Flow does not notice. */
  private watchRelease(): void {
    const { root } = this.store.dom;
    const away = (event: MouseEvent): void => {
      window.removeEventListener("mouseup", away, true);
      if (event.composedPath().includes(root)) return;
      const { clientX, clientY } = event;
      root.dispatchEvent(new MouseEvent("mouseup", { bubbles: true, clientX, clientY }));
    };
    if (root.getRootNode() instanceof ShadowRoot) window.addEventListener("mouseup", away, true);
  }

  readonly valid = (connection: Connection | Edge): boolean => {
    const { linking, connect_targets: connectTargets } = this.store.get();
    if (!linking) return false;
    const [node, handle] =
      linking.fixed === "source"
        ? [connection.target, connection.targetHandle]
        : [connection.source, connection.sourceHandle];
    const feed = feedTo(linking, node, portOf(handle));
    const { scopes } = this.store.layout;
    if (scopes.get(node ?? "") !== scopes.get(linking.node)) return false; // in another body
    this.askFor(feed.source, feed.output);
    return !refusal(connectTargets, feed);
  };

  /** While the target end is fixed, request the inputs that a hovered output can feed. */
  private askFor(node: string, output: string): void {
    const { linking } = this.store.get();
    if (linking?.fixed !== "target" || this.asked === `${node}.${output}`) return;
    this.asked = `${node}.${output}`;
    this.store.link.ask("connect_targets", { node, output, edge: linking.edge });
  }
  private asked = "";

  readonly unlink = (event: MouseEvent | TouchEvent, { toHandle }: FinalConnectionState): void => {
    const { linking } = this.store.get();
    const point = "clientX" in event ? event : event.changedTouches[0];
    this.asked = "";
    const at = { x: point?.clientX ?? 0, y: point?.clientY ?? 0 };
    const aim = dropTargetAt(this.store, toHandle?.nodeId ?? "", portOf(toHandle?.id), at);
    this.store.set({ linking: null });
    if (!linking) return;
    // A list that opens before the release of the button is handled would be closed by it.
    setTimeout(() => drop(this.store, linking, aim));
  };
}
