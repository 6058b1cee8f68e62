// The open list: operators to add, ports to connect, edges, random values.

import type { CSSProperties } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/compat";
import { useCanvasParts, useCanvasState, useCanvasStore } from "../state/context";
import { alignmentItems, drawItems, edgeItems, NEW_OUTPUT, offerItems, outputItems } from "./menuItems";
import type { Place, Popup } from "../state/canvasState";
import { align, ALIGNMENTS, selectedBoxes } from "../state/alignment";
import { SearchableList } from "../search/searchableList";
import { PREFIXES, snippetItems, type Item } from "../search/searchItems";
import { arrange, connectTo, inspectedOperator } from "../state/actions";
import { askCompatibleOps, placeText } from "../search/operatorSearch";
import { chooseItem, insertedName, searchItems, SOURCES } from "../search/search";

type PopupOf<K extends Popup["kind"]> = Extract<Popup, { kind: K }>;

const WIDTH = 460;
const HEIGHT = 350;
/** Number of search results that are tried on the graph before one is selected. */
const MOST_TRIED = 8;

export function Popups() {
  const popup = useCanvasState((state) => state.popup);
  if (!popup) return null;
  switch (popup.kind) {
    case "search":
      return <Search key={JSON.stringify(popup.place)} popup={popup} />;
    case "connect":
      return <Connect key={popup.output} popup={popup} />;
    case "drop":
      return <Drop popup={popup} />;
    case "edges":
      return <Edges popup={popup} />;
    case "align":
      return <Align popup={popup} />;
    case "snippet":
      return <SnippetName popup={popup} />;
    case "draws":
      return <Draws popup={popup} />;
  }
}

/** Return what all lists share: how to close the list, and its position. */
function usePopup(popup: Popup) {
  const store = useCanvasStore();
  const close = (chosen = false): void => {
    if (store.get().popup !== popup) return;
    const held = store.dom.root.querySelector(".wb-search:focus-within") !== null;
    store.set({ popup: null });
    if (!held) return;
    // The selection may change the part that contains the opener: then the canvas is focused.
    if (!chosen && popup.opener?.isConnected) popup.opener.focus({ preventScroll: true });
    else store.dom.focus(store.current);
  };
  const [style] = useState(() => popupStyle(popup, store.dom.box.getBoundingClientRect()));
  return { store, close, style };
}

/** Return a position near the pointer, or at the top of the canvas, always on the screen. */
function popupStyle({ at }: Popup, box: DOMRect): CSSProperties {
  const width = Math.min(WIDTH, innerWidth - 24);
  const left = at ? at.x - 40 : box.left + Math.max(0, (box.width - width) / 2);
  const top = at ? at.y + 12 : box.top + 14;
  return {
    width,
    left: Math.max(12, Math.min(left, innerWidth - width - 12)),
    top: Math.max(12, Math.min(top, innerHeight - HEIGHT - 12)),
  };
}

function Search({ popup }: { popup: PopupOf<"search"> }) {
  const { store, close, style } = usePopup(popup);
  const { everything = false } = popup;
  const place = usePresentPlace(popup.place);
  const [asked, setAsked] = useState<string | null>(null);
  useEffect(() => {
    setAsked(askCompatibleOps(store, place, []));
    if (everything) store.link.ask("list_folders", {});
  }, [store, place, everything]);
  const sources = useCanvasParts(...SOURCES);
  const compatible = sources.compatible_ops.place;
  const items = useMemo(
    () => searchItems(store, sources, place, everything, asked ?? "?"),
    [store, sources, place, everything, asked],
  );
  const tried = useRef(new Set<string>());
  const tryOut = useCallback(
    (found: readonly Item[]): void => {
      if (asked === null || compatible !== asked) return;
      const names = found.slice(0, MOST_TRIED).flatMap((item) => insertedName(item) ?? []);
      const fresh = names.filter((name) => !tried.current.has(name));
      for (const name of fresh) tried.current.add(name);
      if (fresh.length) askCompatibleOps(store, place, fresh);
    },
    [store, place, asked, compatible],
  );
  const answered = sources.compatible_ops.tried;
  const isPending = useCallback(
    ([first]: readonly Item[]): boolean => {
      const name = first && insertedName(first);
      return Boolean(name) && (asked === null || compatible !== asked || !answered?.includes(name!));
    },
    [asked, compatible, answered],
  );
  return (
    <SearchableList
      title={everything ? "Search" : isBranch(place) ? "Branch" : "Add an operator"}
      placeholder={everything ? "Find anything" : "Find an operator"}
      where={placeText(store, place)}
      items={items}
      empty="No matching operators."
      hook="operator"
      style={style}
      onFound={tryOut}
      isPending={isPending}
      choose={(item) => {
        close(true);
        chooseItem(store, place, item);
      }}
      close={close}
    />
  );
}

const isBranch = (place: Place): boolean => place.do === "branch" && place.node !== "";

/** Return the place, or the inspected node's place if undo has removed the place's node. */
function usePresentPlace(place: Place): Place {
  const store = useCanvasStore();
  const after = useCanvasState(() =>
    place.do !== "add" || store.node(place.after) ? null : inspectedOperator(store),
  );
  return useMemo(() => (after === null ? place : { do: "add", after }), [place, after]);
}

function Connect({ popup }: { popup: PopupOf<"connect"> }) {
  const { store, close, style } = usePopup(popup);
  const { node: id, output } = popup;
  const nodes = useCanvasState((state) => state.nodes);
  const edges = useCanvasState((state) => state.edges);
  const connectTargets = useCanvasState((state) => state.connect_targets);
  useEffect(() => {
    if (output) store.link.ask("connect_targets", { node: id, output, edge: "" });
  }, [store, id, output]);
  const items = useMemo(() => {
    const node = nodes.find((entry) => entry.id === id);
    if (!node) return [];
    if (!output) return outputItems(node);
    return connectTargets.source === `${id}.${output}` ? offerItems(nodes, edges, connectTargets) : [];
  }, [nodes, edges, connectTargets, id, output]);
  const choose = (item: Item): void => {
    if (!output) return store.set({ popup: { kind: "connect", node: id, output: item.id } });
    close();
    const at = item.id.indexOf(":");
    const [target, input] =
      item.id === NEW_OUTPUT ? ["", ""] : [item.id.slice(0, at), item.id.slice(at + 1)];
    connectTo(store, { source: id, output, target, input }, "");
  };
  return (
    <SearchableList
      title={output ? `Connect ${id}.${output}` : `Connect ${id}`}
      placeholder={output ? "Connect to" : "Search outputs"}
      where={output ? `from ${id}.${output}` : `from ${id}`}
      items={items}
      empty={output ? "Loading …" : `${id} has no output.`}
      hook="choice"
      grouped
      style={style}
      choose={choose}
      close={close}
    />
  );
}

/** List of ports after a drop on a node with several possible ports. */
function Drop({ popup }: { popup: PopupOf<"drop"> }) {
  const { store, close, style } = usePopup(popup);
  const { linking, node: id } = popup;
  const nodes = useCanvasState((state) => state.nodes);
  const edges = useCanvasState((state) => state.edges);
  const connectTargets = useCanvasState((state) => state.connect_targets);
  const items = useMemo(() => {
    const node = nodes.find((entry) => entry.id === id);
    if (linking.fixed === "target") return node ? outputItems(node) : [];
    return offerItems(nodes, edges, connectTargets, id);
  }, [nodes, edges, connectTargets, id, linking]);
  const choose = (item: Item): void => {
    close();
    const input = item.id.slice(item.id.indexOf(":") + 1);
    const feed =
      linking.fixed === "source"
        ? { source: linking.node, output: linking.port, target: id, input }
        : { source: id, output: item.id, target: linking.node, input: linking.port };
    connectTo(store, feed, linking.edge);
  };
  return (
    <SearchableList
      title={`Connect to ${id}`}
      placeholder="Search ports"
      where={`to ${id}`}
      items={items}
      empty={`${id} has no matching input.`}
      hook="choice"
      grouped
      style={style}
      choose={choose}
      close={close}
    />
  );
}

function Edges({ popup }: { popup: PopupOf<"edges"> }) {
  const { store, close, style } = usePopup(popup);
  const edges = useCanvasState((state) => state.edges);
  const items = useMemo(() => edgeItems(popup.node, edges), [edges, popup.node]);
  return (
    <SearchableList
      title={`Edges of ${popup.node}`}
      placeholder="Search edges"
      where="Enter inserts on the edge, Delete removes it"
      items={items}
      empty={`${popup.node} has no edges.`}
      hook="choice"
      grouped
      style={style}
      choose={(item) =>
        store.set({ popup: { kind: "search", place: { do: "add_on", edge: item.id } } })
      }
      cut={(item) => {
        close();
        store.link.ask("disconnect", { edges: [item.id] });
        store.say(`${item.name} removed`);
      }}
      close={close}
    />
  );
}

function Align({ popup }: { popup: PopupOf<"align"> }) {
  const { store, close, style } = usePopup(popup);
  const count = selectedBoxes(store).length;
  return (
    <SearchableList
      title="Align"
      placeholder="Alignment"
      where={`${count} selected`}
      items={alignmentItems(count)}
      empty="Nothing to align."
      hook="choice"
      grouped
      style={style}
      choose={(item) => {
        close(true);
        const row = ALIGNMENTS.find(({ how }) => how === item.id);
        if (row) align(store, row.how);
        else arrange(store);
      }}
      close={close}
    />
  );
}

/** Field for the name of a snippet of the selected nodes. */
function SnippetName({ popup }: { popup: PopupOf<"snippet"> }) {
  const { store, close, style } = usePopup(popup);
  const snippets = useCanvasState((state) => state.snippets);
  const items = useMemo(
    () => snippetItems(snippets).map((item) => ({ ...item, group: "Replace" })),
    [snippets],
  );
  const typed = useCallback(
    (text: string): Item => ({
      id: text,
      name: `Save as “${text}”`,
      group: "New",
      chips: [],
      note: `${popup.nodes.join(", ")}: can be added to any graph`,
      reason: "",
    }),
    [popup.nodes],
  );
  return (
    <SearchableList
      title="Save as a snippet"
      placeholder="Name"
      where={popup.nodes.join(", ")}
      items={items}
      typed={typed}
      empty="Type a name."
      hook="choice"
      grouped
      style={style}
      choose={(item) => {
        close(true);
        const known = item.id.startsWith(PREFIXES.template);
        store.link.ask("save_snippet", { nodes: [...popup.nodes], name: known ? item.name : item.id });
      }}
      cut={(item) => {
        if (item.id.startsWith(PREFIXES.template)) store.link.ask("remove_snippet", { name: item.name });
      }}
      close={close}
    />
  );
}

function Draws({ popup }: { popup: PopupOf<"draws"> }) {
  const { store, close, style } = usePopup(popup);
  const nodes = useCanvasState((state) => state.nodes);
  const items = useMemo(() => {
    const node = nodes.find((entry) => entry.id === popup.node);
    return node ? drawItems(node) : [];
  }, [nodes, popup.node]);
  return (
    <SearchableList
      title={`Random values of ${popup.node}`}
      placeholder="Search random values"
      where={`of ${popup.node}`}
      items={items}
      empty={`${popup.node} has no random values.`}
      hook="choice"
      grouped
      style={style}
      choose={(item) => {
        close();
        store.link.ask("unfold", { node: popup.node, arg: item.id });
      }}
      close={close}
    />
  );
}
