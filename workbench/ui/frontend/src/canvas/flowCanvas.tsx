// The canvas rendered by React Flow, with its overlays.

import { Background, ReactFlow, SelectionMode, useReactFlow, useStore } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef } from "preact/compat";
import { Card, Generator, GroupCard, Output } from "./nodes/nodeViews";
import { clipboard } from "./input/clipboard";
import { CodeCopy } from "./menus/codeCopy";
import { isPage } from "../lib/fullPage";
import { useCanvasParts, useCanvasState, useCanvasStore } from "./state/context";
import { ContextMenu } from "./menus/contextMenu";
import { DeviceLine } from "./layout/deviceLine";
import { arrange as layOut, addNote } from "./state/actions";
import { EmptyState } from "./emptyState";
import { legibility } from "./layout/firstView";
import { Flow, type BoxFlow, type LineFlow } from "./state/flowElements";
import { withGroupPositions, withGroups } from "./layout/groups";
import { FocusKeeper } from "./input/focusKeeper";
import { ShortcutHelp } from "./menus/shortcutHelp";
import { CARD, type Point } from "./layout/geometry";
import { freeSpot } from "./layout/manualLayout";
import { CLICK_DISTANCE, PointerHandlers } from "./input/pointerHandlers";
import { DropHint } from "./edges/dropHint";
import { listenToKeys } from "./input/keyboardShortcuts";
import { NodeDetail } from "./nodes/nodeDetail";
import { EdgeLabels } from "./edges/edgeLabels";
import { EdgeLine } from "./edges/edgePaths";
import { useLayoutCache } from "./layout/layoutCache";
import { Palette } from "./search/palette";
import { dropAt, type Drop } from "./search/paletteDrop";
import { Popups } from "./menus/popups";
import { Footer } from "./footer";
import { Frames, Notes } from "./nodes/remarks";
import { BodyBar, BlockFrame } from "./nodes/blockFrame";
import { Toolbar } from "./menus/toolbar";
import { Breadcrumb } from "./breadcrumb";
import { useSize, useView } from "./viewport";

const NODES = { op: Card, group: GroupCard, draw: Generator, out: Output, block: BlockFrame, body: BodyBar };
const EDGES = { line: EdgeLine };
const NO_ATTRIBUTION = { hideAttribution: true };
const MULTI_SELECT_KEYS = ["Control", "Meta", "Shift"];
/** Maximum number of nodes for which position changes are animated; more would be too slow. */
const MOST_ANIMATED = 60;
/** A constant, so that the layout is not recomputed. */
const NO_POSITIONS = {};
const noop = (): void => undefined;

export function FlowCanvas() {
  const store = useCanvasStore();
  const parts = useCanvasParts(
    ...(["graph_number", "nodes", "edges", "breadcrumb", "positions"] as const),
    ...(["selected", "picked", "moved", "dragging", "arranged", "groups", "crowded"] as const),
  );
  const drawn = useMemo(
    () => withGroups(parts.nodes, parts.edges, parts.groups),
    [parts.nodes, parts.edges, parts.groups],
  );
  const positions = useMemo(
    () => (parts.crowded ? NO_POSITIONS : withGroupPositions(parts.positions, parts.groups)),
    [parts.crowded, parts.positions, parts.groups],
  );
  const graph = { ...parts, ...drawn, positions };
  const linking = useCanvasState((state) => state.linking?.fixed);
  const size = useSize(store);
  const layout = useLayoutCache(graph);
  store.layout = layout;
  const glides = graph.nodes.length <= MOST_ANIMATED;
  const { fit, reveal, follows, stay, zoom } = useView(store, graph.graph_number, layout, size, glides);
  const flow = useReactFlow<BoxFlow, LineFlow>();
  const text = useStore(({ transform }) => legibility(transform[2]).text);
  const detail = useStore(({ transform }) => legibility(transform[2]).detail);
  const builder = useMemo(() => new Flow(), []);
  const nodes = builder.nodes(graph, layout.nodes, layout);
  const edges = builder.edges(graph, layout.routes, layout.scopes);
  const keys = useRef<HTMLDivElement>(null);

  const holder = useMemo(() => new FocusKeeper(store), [store]);
  const { current } = store;
  useEffect(() => {
    if (holder.follow()) reveal(current);
  }, [holder, reveal, current]);
  const showAll = useCallback(() => fit(), [fit]);
  const arrange = useCallback(() => {
    layOut(store);
    fit();
  }, [store, fit]);
  const pointerHandlers = useMemo(() => new PointerHandlers(store, stay), [store, stay]);
  /** Return a free position: below the inspected node, or in the middle of the visible area. */
  const spot = useCallback((): Point => {
    const { boxes, settled } = store.layout;
    const under = settled.get(store.inspected);
    const { x, y, zoom } = flow.getViewport();
    const { clientWidth, clientHeight } = store.dom.box;
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
      listenToKeys(store, {
        reveal,
        fit: showAll,
        arrange,
        nudge: pointerHandlers.nudge,
        note: () => addNote(store, spot()),
        zoom,
        help: () => keys.current?.togglePopover(),
      }),
    ];
    return () => ends.forEach((end) => end());
  }, [store, holder, showAll, reveal, zoom, arrange, pointerHandlers, spot]);

  const dropUnder = useCallback(
    (at: Point): Drop | null => {
      const box = store.dom.box.getBoundingClientRect();
      const inside = at.x > box.left && at.x < box.right && at.y > box.top && at.y < box.bottom;
      return inside ? dropAt(store.layout, flow.screenToFlowPosition(at)) : null;
    },
    [store, flow],
  );
  const menuView = useMemo(
    () => ({
      fit: showAll,
      arrange,
      zoom,
      help: () => keys.current?.togglePopover(),
      place: flow.screenToFlowPosition,
    }),
    [showAll, arrange, zoom, flow],
  );
  const empty = !graph.nodes.length;
  // Memoised, so that a drag does not render them again.
  const overlays = useMemo(
    () => (
      <>
        <Breadcrumb />
        {empty && <EmptyState />}
        {linking === "source" && (
          <div className="wb-new-output" data-wb="new-output">
            + output
          </div>
        )}
        <DropHint />
        <Footer fit={showAll} stay={stay} />
        <NodeDetail />
        <ShortcutHelp ref={keys} />
        <Popups />
        <CodeCopy />
        <ContextMenu view={menuView} />
        <Announcement />
      </>
    ),
    [empty, linking, showAll, stay, menuView],
  );

  return (
    <>
      <Palette dropUnder={dropUnder} />
      <div
        className="wb-canvas-box"
        tabIndex={-1}
        role="region"
        aria-label="Graph"
        data-glides={glides || undefined}
        data-detail={detail}
        style={{ "--least": `${text}px` }}
        data-dragging={graph.dragging || undefined}
        data-linking={linking}
        onPointerDownCapture={pointerHandlers.press}
        onClickCapture={pointerHandlers.release}
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
          multiSelectionKeyCode={MULTI_SELECT_KEYS}
          panActivationKeyCode={null}
          zoomActivationKeyCode={null}
          selectionMode={SelectionMode.Partial}
          zoomOnDoubleClick={false}
          preventScrolling={isPage(store.dom.root)}
          connectOnClick={false}
          autoPanOnConnect={!follows.current}
          connectionRadius={22}
          reconnectRadius={7}
          nodeDragThreshold={CLICK_DISTANCE}
          elevateEdgesOnSelect={false}
          elevateNodesOnSelect={false}
          proOptions={NO_ATTRIBUTION}
          aria-label="Operators and edges"
        >
          <Background gap={18} size={1.6} color="var(--dot)" />
          {layout.line !== null && <DeviceLine line={layout.line} left={layout.bounds.x} />}
          <Frames places={layout} />
          <Notes places={layout} />
          <EdgeLabels edges={graph.edges} routes={layout.routes} />
          <Toolbar places={layout} />
        </ReactFlow>
        {overlays}
      </div>
    </>
  );
}

/** Live region for screen readers. */
function Announcement() {
  const said = useCanvasState((state) => state.said);
  return (
    <div className="wb-hidden" role="status" aria-live="polite" data-wb="said">
      {said}
    </div>
  );
}
