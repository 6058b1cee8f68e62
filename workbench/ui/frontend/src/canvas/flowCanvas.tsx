// The canvas as React Flow draws it, and what stands around.

import { Background, ReactFlow, SelectionMode, useReactFlow } from "@xyflow/react";
import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";
import { Card, Generator, Output } from "./nodeViews";
import { clipboard } from "./clipboard";
import { useCanvasStore } from "./context";
import { Controls } from "./controls";
import { search } from "./actions";
import { EmptyState } from "./emptyState";
import { Flow, type BoxFlow, type LineFlow } from "./flowElements";
import { FocusKeeper } from "./focusKeeper";
import { ShortcutHelp } from "./shortcutHelp";
import { CARD, type Point } from "./geometry";
import { lowered } from "./manualLayout";
import { PointerHandlers } from "./pointerHandlers";
import { DropHint } from "./dropHint";
import { listen } from "./keyboardShortcuts";
import { MARGIN } from "./layout";
import { EdgeLabels } from "./edgeLabels";
import { EdgeLine } from "./edgePaths";
import { heightFor, useLayoutCache } from "./layoutCache";
import { Popups } from "./popups";
import { rowOf, shareHeight } from "./equalHeight";
import { Toolbar } from "./toolbar";
import { Breadcrumb } from "./breadcrumb";
import { gliding, LEAST_HEIGHT, useSize, useView } from "./viewport";

const NODES = { op: Card, draw: Generator, out: Output };
const EDGES = { line: EdgeLine };
const PRO = { hideAttribution: true };
const MULTI = ["Control", "Meta", "Shift"];
/** With more nodes than these nothing glides to a new place: each frame would cost too much. */
const GLIDERS = 60;
const noop = (): void => undefined;

export function FlowCanvas() {
  const store = useCanvasStore();
  const state = useSyncExternalStore(store.watch, store.get);
  const size = useSize(store);
  const places = useLayoutCache(state, size.width);
  const view = useView(places, size, state.nodes.length <= GLIDERS);
  const flow = useReactFlow<BoxFlow, LineFlow>();
  const builder = useMemo(() => new Flow(), []);
  const nodes = builder.nodes(state, places.spots);
  const edges = builder.edges(state, places.routes);
  const keys = useRef<HTMLDivElement>(null);
  const keysId = useId();
  const latest = useRef(places);
  latest.current = places;

  const height = heightFor(places, size.width, MARGIN, LEAST_HEIGHT);
  // Sought when the height changes, not once: a host may put the canvas elsewhere.
  useLayoutEffect(() => shareHeight(rowOf(store.root), height), [store, height]);

  const holder = useMemo(() => new FocusKeeper(store), [store]);
  useEffect(() => {
    if (holder.follow()) view.reveal(store.current);
  });
  const { fit, reveal, follows } = view;
  const arrange = useCallback(() => {
    store.link.ask("arrange", {});
    fit();
  }, [store, fit]);
  const pointerHandlers = useMemo(() => {
    const stay = (): void => {
      follows.current = false;
    };
    return new PointerHandlers(store, latest, stay);
  }, [store, follows]);
  /** Room for a card: under the inspected node, else in the middle of what is seen. */
  const spot = useCallback((): Point => {
    const { boxes, settled } = latest.current;
    const under = settled.get(store.inspected);
    const { x, y, zoom } = flow.getViewport();
    const { clientWidth, clientHeight } = store.root;
    const middle = {
      x: (clientWidth / 2 - x) / zoom - CARD.width / 2,
      y: (clientHeight / 2 - y) / zoom - CARD.height / 2,
    };
    const card = { width: CARD.width, height: CARD.height, over: 0 };
    return lowered(under ?? middle, card, boxes, settled);
  }, [store, flow]);
  useEffect(() => {
    const ends = [
      holder.listen(),
      clipboard(store, spot),
      listen(store, {
        spots: () =>
          latest.current.boxes.flatMap((box) => {
            const at = latest.current.settled.get(box.id);
            return at ? [{ id: box.id, x: at.x + box.width / 2, y: at.y + 27 }] : [];
          }),
        reveal,
        fit: () => fit(),
        arrange,
        nudge: pointerHandlers.nudge,
        zoom: (by) => void flow.zoomTo(flow.getZoom() * by, { duration: gliding(120) }),
        help: () => keys.current?.togglePopover(),
      }),
    ];
    return () => ends.forEach((end) => end());
  }, [store, holder, flow, fit, reveal, arrange, pointerHandlers, spot]);

  return (
    <div
      className="wb-canvas-box"
      tabIndex={-1}
      role="region"
      aria-label="Graph"
      data-glides={state.nodes.length <= GLIDERS || undefined}
      data-dragging={state.dragging || undefined}
      data-linking={state.linking ? state.linking.fixed : undefined}
    >
      <ReactFlow<BoxFlow, LineFlow>
        nodes={nodes}
        edges={edges}
        nodeTypes={NODES}
        edgeTypes={EDGES}
        onNodesChange={pointerHandlers.change}
        onNodeClick={pointerHandlers.click}
        onNodeDragStart={pointerHandlers.start}
        onNodeDrag={pointerHandlers.drag}
        onNodeDragStop={pointerHandlers.dropNode}
        onEdgeClick={pointerHandlers.pick}
        onEdgeMouseEnter={pointerHandlers.enter}
        onEdgeMouseLeave={pointerHandlers.leave}
        onPaneClick={pointerHandlers.pane}
        onConnectStart={pointerHandlers.link}
        onReconnectStart={pointerHandlers.relink}
        onReconnect={noop}
        onConnectEnd={pointerHandlers.unlink}
        isValidConnection={pointerHandlers.valid}
        onMoveStart={(event) => {
          if (event) follows.current = false;
        }}
        minZoom={0.2}
        maxZoom={2}
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={MULTI}
        panActivationKeyCode={null}
        zoomActivationKeyCode={null}
        selectionMode={SelectionMode.Partial}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        connectOnClick={false}
        autoPanOnConnect={!follows.current}
        connectionRadius={22}
        reconnectRadius={7}
        nodeDragThreshold={4}
        elevateEdgesOnSelect={false}
        proOptions={PRO}
        aria-label="Operators and edges"
      >
        <Background gap={18} size={1.6} color="var(--dot)" />
        <EdgeLabels edges={state.edges} routes={places.routes} />
        <Toolbar places={places} />
      </ReactFlow>
      <Breadcrumb />
      {!state.nodes.length && <EmptyState />}
      {state.linking?.fixed === "source" && (
        <div className="wb-new-output" data-wb="new-output">
          + output
        </div>
      )}
      <DropHint />
      <div className="wb-canvas-hint">
        <button type="button" data-wb="add" onClick={() => search(store)}>
          <kbd>/</kbd> add an operator
        </button>
        <button type="button" data-wb="keys" popoverTarget={keysId} aria-haspopup="dialog">
          <kbd>?</kbd> keys
        </button>
      </div>
      {state.nodes.length > 0 && (
        <Controls fit={() => fit()} arrange={arrange} width={size.width} />
      )}
      <ShortcutHelp ref={keys} id={keysId} />
      <Popups />
      <div className="wb-hidden" role="status" aria-live="polite" data-wb="said">
        {state.said}
      </div>
    </div>
  );
}
