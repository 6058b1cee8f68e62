"""Where edges run: on the canvas and inside the frames of regions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.region_graphs import CATALOG, REGION_GRAPHS
from tests.thorough import examples
from tests.ui.frontend_module import run_module
from workbench.graph import Graph
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import infer_devices
from workbench.ui.canvas.canvas_views import edge_entries, node_entries

Box = Mapping[str, Any]
SOURCE = """
import { boxesOf, arrange } from "./src/canvas/layout/layout";
import { layOutFrames, scopesOf, sized, withInner } from "./src/canvas/layout/nestedLayout";
import { orderPorts } from "./src/canvas/layout/portOrder";
import { Routes } from "./src/canvas/layout/routes";

const context = { measureText: (text) => ({ width: 7 * text.length }) };
globalThis.document = { createElement: () => ({ getContext: () => context }) } as any;

const drawn = ({ nodes, edges }) => {
  const frames = layOutFrames(nodes, edges);
  const entries = sized(nodes, frames.places);
  const own = entries.filter(({ id }) => !frames.inner.has(id));
  const ids = new Set(own.map(({ id }) => id));
  const { spots, lanes } = arrange(own, edges.filter(({ source }) => ids.has(source)));
  for (const [edge, lane] of frames.lanes) lanes.set(edge, spots.get(lane.frame).x + lane.x);
  withInner(spots, frames.inner);
  const ordered = orderPorts(entries, edges, spots, lanes);
  const scopes = scopesOf(nodes, edges);
  const boxes = boxesOf(ordered, edges).map(({ id, width, height }) =>
    ({ id, width, height, scope: scopes.get(id), ...spots.get(id) }));
  const routes = new Routes().find(ordered, edges, spots, lanes);
  return { boxes, routes: [...routes].map(([id, { along }]) =>
    ({ id, along, scope: scopes.get(id) })) };
};
const answer = (graphs) => graphs.map(drawn);
"""


def views(graph: Graph, *, unfolds: bool) -> dict[str, Any]:
    """What the canvas is given; ``unfolds`` shows each draw as a node of its own."""
    draws = (node.id for node in graph.walk() if node.op.startswith("random."))
    layout = Layout(unfolded=frozenset(draws if unfolds else ()))
    devices = infer_devices(graph, CATALOG)
    return {
        "nodes": node_entries(graph, CATALOG, layout, devices, {}, {}, []),
        "edges": edge_entries(graph, CATALOG, layout, devices),
    }


def regions_around(scope: str, boxes: Mapping[str, Box]) -> Iterator[str]:
    """The regions in which a body lies, the innermost first."""
    while region := scope.rpartition(".")[0]:
        yield region
        scope = boxes[region]["scope"]


def holds(box: Box, x: float, y: float, rim: float = 0) -> bool:
    across = box["x"] - rim <= x <= box["x"] + box["width"] + rim
    return bool(across and box["y"] - rim <= y <= box["y"] + box["height"] + rim)


def overlap(a: Box, b: Box) -> bool:
    across = a["x"] < b["x"] + b["width"] and b["x"] < a["x"] + a["width"]
    return bool(across and a["y"] < b["y"] + b["height"] and b["y"] < a["y"] + a["height"])


@examples(quick=1, thorough=6)
@given(st.lists(st.tuples(REGION_GRAPHS, st.booleans()), min_size=4, max_size=12))
def test_boxes_and_edges_cover_nothing_also_in_frames(drawn: list[tuple[Graph, bool]]) -> None:
    for found in run_module(SOURCE, [views(graph, unfolds=each) for graph, each in drawn]):
        boxes: dict[str, Box] = {box["id"]: box for box in found["boxes"]}
        for a, b in combinations(boxes.values(), 2):
            if a["scope"] == b["scope"]:
                assert not overlap(a, b), f"{a['id']} lies upon {b['id']}"
        for box in boxes.values():
            for region in regions_around(box["scope"], boxes):
                right, bottom = box["x"] + box["width"], box["y"] + box["height"]
                assert holds(boxes[region], box["x"], box["y"]), f"{box['id']} leaves {region}"
                assert holds(boxes[region], right, bottom), f"{box['id']} leaves {region}"
        for route in found["routes"]:
            regions = list(regions_around(route["scope"], boxes))
            others = [box for key, box in boxes.items() if key not in regions]
            for point in route["along"]:
                at = point["x"], point["y"]
                through = [box["id"] for box in others if holds(box, *at, rim=-1)]
                assert not through, f"{route['id']} runs through {through[0]} at {at}"
                left = [region for region in regions if not holds(boxes[region], *at)]
                assert not left, f"{route['id']} leaves {left[0]} at {at}"
