// The canvas as React Flow draws it, and what stands around.

import { Background, ReactFlow, SelectionMode, useReactFlow, useStore } from "@xyflow/react";
import {
  useCallback,
  useEffect,
  useId,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "preact/compat";
import { Card, Generator, Output } from "./nodes/nodeViews";
import { clipboard } from "./input/clipboard";
import { CodeCopy } from "./menus/codeCopy";
import { isPage } from "../lib/fullPage";
import { useCanvasStore } from "./state/context";
import { ContextMenu } from "./menus/contextMenu";
import { DeviceLine } from "./layout/deviceLine";
import { Controls } from "./controls";
import { note, search } from "./state/actions";
import { EmptyState } from "./emptyState";
import { FAR, footerOf } from "./layout/firstView";
import { Flow, type BoxFlow, type LineFlow } from "./state/flowElements";
import { FocusKeeper } from "./input/focusKeeper";
import { ShortcutHelp } from "./menus/shortcutHelp";
import { CARD, type Point } from "./layout/geometry";
import { freeSpot } from "./layout/manualLayout";
import { PointerHandlers } from "./input/pointerHandlers";
import { DropHint } from "./edges/dropHint";
import { listen } from "./input/keyboardShortcuts";
import { NodeDetail } from "./nodes/nodeDetail";
import { EdgeLabels } from "./edges/edgeLabels";
import { EdgeLine } from "./edges/edgePaths";
import { useLayoutCache } from "./layout/layoutCache";
import { Palette } from "./search/palette";
import { dropAt, type Drop } from "./search/paletteDrop";
import { showPalette } from "./state/paletteVisibility";
import { Popups } from "./menus/popups";
import { SampleChooser } from "./sampleChooser";
import { Frames, Notes } from "./nodes/remarks";
import { SelectionToolbar } from "./menus/selectionToolbar";
import { BodyBar, RegionFrame } from "./nodes/regionFrame";
import { Toolbar } from "./menus/toolbar";
import { Breadcrumb } from "./breadcrumb";
import { useSize, useView } from "./viewport";

const NODES = { op: Card, draw: Generator, out: Output, region: RegionFrame, body: BodyBar };
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
  const footer = footerOf(size);
  const places = useLayoutCache(state);
  const view = useView(store, places, size, state.nodes.length <= GLIDERS);
  const flow = useReactFlow<BoxFlow, LineFlow>();
  const far = useStore(({ transform }) => transform[2] < FAR);
  const builder = useMemo(() => new Flow(), []);
  const nodes = builder.nodes(state, places.nodes, places);
  const edges = builder.edges(state, places.routes, places.scopes);
  const keys = useRef<HTMLDivElement>(null);
  const keysId = useId();
  const latest = useRef(places);
  latest.current = places;
  store.places = places;

  const holder = useMemo(() => new FocusKeeper(store), [store]);
  useEffect(() => {
    if (holder.follow()) view.reveal(store.current);
  });
  const { fit, reveal, follows, stay, zoom } = view;
  const arrange = useCallback(() => {
    store.link.ask("arrange", {});
    fit();
  }, [store, fit]);
  const pointerHandlers = useMemo(() => new PointerHandlers(store, latest, stay), [store, stay]);
  /** Room for a card: under the inspected node, else in the middle of what is seen. */
  const spot = useCallback((): Point => {
    const { boxes, settled } = latest.current;
    const under = settled.get(store.inspected);
    const { x, y, zoom } = flow.getViewport();
    const { clientWidth, clientHeight } = store.box;
    const middle = {
      x: (clientWidth / 2 - x) / zoom - CARD.width / 2,
      y: (clientHeight / 2 - y) / zoom - CARD.height / 2,
    };
    const card = { width: CARD.width, height: CARD.height };
    return freeSpot(under ?? middle, card, boxes, settled);
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
        note: () => note(store, spot()),
        zoom,
        help: () => keys.current?.togglePopover(),
      }),
    ];
    return () => ends.forEach((end) => end());
  }, [store, holder, fit, reveal, zoom, arrange, pointerHandlers, spot]);

  const dropUnder = (at: Point): Drop | null => {
    const box = store.box.getBoundingClientRect();
    const inside = at.x > box.left && at.x < box.right && at.y > box.top && at.y < box.bottom;
    return inside ? dropAt(latest.current, flow.screenToFlowPosition(at)) : null;
  };

  return (
    <>
      <Palette dropUnder={dropUnder} />
      <div
        className="wb-canvas-box"
        data-footer-rows={footer.rows}
        data-footer-brief={footer.brief || undefined}
        tabIndex={-1}
        role="region"
        aria-label="Graph"
        data-glides={state.nodes.length <= GLIDERS || undefined}
        data-far={far || undefined}
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
          onDblClick={pointerHandlers.doubleClick}
          onEdgeDoubleClick={pointerHandlers.edgeDoubleClick}
          onConnectStart={pointerHandlers.link}
          onReconnectStart={pointerHandlers.relink}
          onReconnect={noop}
          onConnectEnd={pointerHandlers.unlink}
          isValidConnection={pointerHandlers.valid}
          onMoveStart={(event) => {
            if (event) stay();
          }}
          minZoom={0.1}
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
          preventScrolling={isPage(store.root)}
          connectOnClick={false}
          autoPanOnConnect={!follows.current}
          connectionRadius={22}
          reconnectRadius={7}
          nodeDragThreshold={4}
          elevateEdgesOnSelect={false}
          elevateNodesOnSelect={false}
          proOptions={PRO}
          aria-label="Operators and edges"
        >
          <Background gap={18} size={1.6} color="var(--dot)" />
          {places.line !== null && <DeviceLine line={places.line} left={places.bounds.x} />}
          <Frames places={places} />
          <Notes places={places} />
          <EdgeLabels edges={state.edges} routes={places.routes} />
          <Toolbar places={places} />
          <SelectionToolbar arrange={arrange} />
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
          <button type="button" data-wb="add" aria-label="Add an operator" onClick={() => search(store)}>
            <kbd>/</kbd> <span className="wb-word">add</span>
          </button>
          <button
            type="button"
            data-wb="palette-button"
            aria-pressed={state.palette}
            onClick={() => showPalette(store)}
          >
            <kbd>p</kbd> <span className="wb-word">palette</span>
          </button>
          <button type="button" data-wb="keys" popoverTarget={keysId} aria-haspopup="dialog">
            <kbd>?</kbd> <span className="wb-word">keys</span>
          </button>
          <SampleChooser />
        </div>
        <NodeDetail />
        {state.nodes.length > 0 && (
          <Controls fit={() => fit()} arrange={arrange} zoom={zoom} stay={stay} width={size.width} />
        )}
        <ShortcutHelp ref={keys} id={keysId} />
        <Popups />
        <CodeCopy />
        <ContextMenu view={{ fit: () => fit(), arrange, place: flow.screenToFlowPosition }} />
        <div className="wb-hidden" role="status" aria-live="polite" data-wb="said">
          {state.said}
        </div>
      </div>
    </>
  );
}
