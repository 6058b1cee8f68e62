"""What graphs and results look like on the screen."""

import dataclasses
import json

import pytest

from workbench.catalog import load_catalog
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.process_memory import MemoryUse
from workbench.graph import Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import infer_devices
from workbench.preview import PreviewRequest, PreviewResult, Tile
from workbench.ui.canvas.canvas_views import node_entries
from workbench.ui.inspector.argument_rows import inspector_view
from workbench.ui.preview import presenters

MACHINE = dataclasses.replace(
    describe_machine(), cpu="A CPU", cores=2, gpu="NVIDIA H200", no_gpu=""
)


@pytest.mark.parametrize("recipe", load_recipes())
def test_every_recipe_has_nodes_and_rows_that_are_json(recipe: str) -> None:
    graph, catalog = load_recipe(recipe), load_catalog()
    nodes = node_entries(graph, catalog, Layout(), infer_devices(graph, catalog), {}, {}, ())
    held = [node["id"] for node in nodes if not node["movable"]]
    flat = {node.id for node in graph.nodes if not node.bodies}
    decoded = ["decode"] if graph.has("decode") else []  # a reader of videos decodes them
    assert [node for node in held if node in flat] == ["reader", *decoded]
    for node in nodes:
        view = inspector_view(graph, catalog, node["id"], node["device"], ())
        json.dumps(view, allow_nan=False)
        names = [row["name"] for row in view["rows"]]
        assert len(names) == len(set(names))
        assert not {"file_root", "preserve", "seed"} & set(names)


def test_an_operator_that_dali_lacks_can_still_be_looked_at() -> None:
    graph, catalog = load_recipe("rotate-jitter"), load_catalog()
    odd = Node("odd", "sharpen_2099", {"x": 1}, {"data": Port("flip", "output")})
    graph = dataclasses.replace(graph, nodes=(*graph.nodes, odd))
    faults = check_graph(graph, catalog)
    nodes = node_entries(graph, catalog, Layout(), infer_devices(graph, catalog), {}, {}, faults)
    assert "sharpen_2099" in nodes[-1]["fault"]


def test_the_picture_carries_its_header() -> None:
    tiles = (
        Tile(
            0, Sample("a/ä.jpg"), "3", "224×224×3 u8", ("angle 1",), (0, 0, 9, 9), ((9, 0, 9, 9),)
        ),
        Tile(1, Sample("a/b.jpg", "not an image"), "3", "", (), None, ()),
    )
    memory = MemoryUse(3, 100, 0, 0, 5000, 20)
    preview = PreviewResult(
        b"JPEG", "image/jpeg", (18, 18), tiles, ("images",), "", 2, {}, ("flip",), 1.234,
        ("resize.output",), memory,
    )  # fmt: skip
    request = PreviewRequest(load_recipe("simclr"), "data", tiles=2, tile_size=9)
    picture = presenters.picture_bytes(preview, request)
    length = int.from_bytes(picture[:4], "little")
    header = json.loads(picture[4 : 4 + length])
    assert picture[4 + length :] == b"JPEG"
    assert header["sheet"] == [18, 18]
    assert header["tiles"][0]["augmented"] == [[9, 0, 9, 9]]
    assert header["tiles"][1]["error"] == "not an image"
    assert header["tiles"][1]["original"] == []
    assert (header["of"], header["tile"], header["repeat"]) == (64, 9, -1)
    assert header["baseline"] == ["resize.output"]
    assert header["reran"] == ["flip"]
    assert header["memory"]["host_budget"] == 100


def test_mixed_can_be_chosen_where_there_is_a_gpu() -> None:
    mixed = presenters.device_choices(MACHINE)[1]
    assert mixed == {"id": "mixed", "label": "Mixed · H200", "disabled": ""}
    without = dataclasses.replace(MACHINE, gpu="", no_gpu="there is none")
    assert presenters.device_choices(without)[1]["disabled"] == (
        "Mixed decoding needs a GPU: there is none."
    )
