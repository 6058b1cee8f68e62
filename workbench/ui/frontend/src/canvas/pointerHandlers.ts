// What the mouse does on the canvas.

import type {
  Connection,
  Edge,
  FinalConnectionState,
  NodeChange,
  OnConnectStartParams,
} from "@xyflow/react";
import type { MouseEvent as ReactMouse } from "react";
import type { CanvasStore } from "./canvasStore";
import { aimed, drop } from "./edgeDrop";
import type { BoxFlow, LineFlow } from "./flowElements";
import { isOutput, type Point } from "./geometry";
import { feedTo, portOf, refusal } from "./edgeDrag";
import type { LayoutCache } from "./layoutCache";
import { edgeUnder } from "./edgeUnderNode";

/** Its functions stay the same objects, so that nothing is drawn anew for them. */
export class PointerHandlers {
  constructor(
    private store: CanvasStore,
    private places: { current: LayoutCache },
    /** Keeps the view where it is: what is put somewhere by hand must not slip away under it. */
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

  /** A click on one of many selected ones leaves that one. */
  readonly click = (event: ReactMouse, node: BoxFlow): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (isOutput(node.id)) this.store.select([], new Set([node.id]));
    else this.store.select([node.id]);
  };

  readonly pane = (): void => this.store.select([]);

  readonly pick = (event: ReactMouse, edge: LineFlow): void => {
    const more = event.ctrlKey || event.metaKey || event.shiftKey;
    const { selected, picked } = this.store.get();
    this.store.select(more ? selected : [], new Set(more ? [...picked, edge.id] : [edge.id]));
  };

  readonly enter = (_: ReactMouse, edge: LineFlow): void => {
    if (!this.store.get().dragging) this.store.set({ hovered: edge.id });
  };

  readonly leave = (_: ReactMouse, edge: LineFlow): void => {
    if (this.store.get().hovered === edge.id) this.store.set({ hovered: "" });
  };

  readonly drag = (event: MouseEvent | TouchEvent, node: BoxFlow): void => {
    this.store.set({ hovered: event.altKey ? this.under(node) : "" });
  };

  readonly dropNode = (event: MouseEvent | TouchEvent, node: BoxFlow): void => {
    const { store } = this;
    const edge = event.altKey ? this.under(node) : "";
    store.set({ hovered: "", dragging: false });
    const { moved, positions } = store.get();
    const free = edge && !Object.keys(positions).length;
    if (free)
      store.set({ moved: null }); // the layout has a place for it
    else if (moved) this.place(moved);
    if (edge) store.link.ask("splice", { node: node.id, edge });
  };

  readonly start = (): void => this.stay();

  readonly nudge = (dx: number, dy: number): void => {
    const { selected, picked, moved } = this.store.get();
    const { settled } = this.places.current;
    const chosen = [...selected, ...[...picked].filter(isOutput)];
    const next = new Map(moved);
    for (const id of chosen) {
      const at = settled.get(id);
      if (at) next.set(id, { x: at.x + dx, y: at.y + dy });
    }
    if (!chosen.length) return;
    this.stay();
    this.store.set({ moved: next });
    this.place(next);
  };

  private place(moved: ReadonlyMap<string, Point>): void {
    const all = [...this.places.current.spots, ...moved];
    const rounded = all.map(([id, { x, y }]) => [id, [Math.round(x), Math.round(y)]]);
    const asked = this.store.link.ask("place", { positions: Object.fromEntries(rounded) });
    if (!asked) this.store.set({ moved: null });
  }

  private under({ id, position, width = 0, height = 0 }: BoxFlow): string {
    if (isOutput(id)) return "";
    const middle = { x: position.x + width / 2, y: position.y + height / 2 };
    const own = (edge: string): boolean => {
      const entry = this.store.edge(edge);
      return !entry || entry.source === id || entry.target === id;
    };
    return edgeUnder(this.places.current.routes, middle, own);
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

  /** In a shadow root React Flow does not hear of a button that is let go outside of it. */
  private watchRelease(): void {
    const { root } = this.store;
    const away = (event: MouseEvent): void => {
      window.removeEventListener("mouseup", away, true);
      if (event.composedPath().includes(root)) return;
      const { clientX, clientY } = event;
      root.dispatchEvent(new MouseEvent("mouseup", { bubbles: true, clientX, clientY }));
    };
    if (root.getRootNode() instanceof ShadowRoot) window.addEventListener("mouseup", away, true);
  }

  readonly valid = (connection: Connection | Edge): boolean => {
    const { linking, connectTargets } = this.store.get();
    if (!linking) return false;
    const [node, handle] =
      linking.fixed === "source"
        ? [connection.target, connection.targetHandle]
        : [connection.source, connection.sourceHandle];
    const feed = feedTo(linking, node, portOf(handle));
    this.askFor(feed.source, feed.output);
    return !refusal(connectTargets, feed);
  };

  /** What an output that is hovered may feed, while the other end is fixed. */
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
    const aim = aimed(this.store, toHandle?.nodeId ?? "", portOf(toHandle?.id), at);
    this.store.set({ linking: null });
    if (!linking) return;
    // A list that opens before the button's release is done with would be closed by it.
    setTimeout(() => drop(this.store, linking, aim));
  };
}
