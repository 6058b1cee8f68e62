"""What graphs and results look like on the screen."""

import dataclasses
import json

import pytest

from workbench.bench import Measurement, Report
from workbench.catalog import load_catalog
from workbench.engine.machine import describe_machine
from workbench.engine.samples import Sample
from workbench.graph import Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.devices import infer_devices
from workbench.preview import Preview, Tile
from workbench.ui import present
from workbench.ui.rows import inspector_view

MACHINE = dataclasses.replace(
    describe_machine(), cpu="A CPU", cores=2, gpu="NVIDIA H200", no_gpu=""
)


@pytest.mark.parametrize("recipe", load_recipes())
def test_every_recipe_has_nodes_and_rows_that_are_json(recipe: str) -> None:
    graph, catalog = load_recipe(recipe), load_catalog()
    nodes = present.node_entries(graph, catalog, infer_devices(graph, catalog), {}, ())
    assert [node["id"] for node in nodes if not node["movable"]] == ["reader", "decode"]
    for node in nodes:
        view = inspector_view(graph, catalog, node["id"], node["device"], ())
        json.dumps(view, allow_nan=False)
        names = [row["name"] for row in view["rows"]]
        assert len(names) == len(set(names))
        assert not {"file_root", "preserve", "seed"} & set(names)


def test_rows_say_what_is_set_and_what_is_usual() -> None:
    graph, catalog = load_recipe("rotate-jitter"), load_catalog()
    view = inspector_view(graph, catalog, "rotate", "cpu", ())
    rows = {row["name"]: row for row in view["rows"]}
    assert rows["angle"]["mode"] == "random"
    assert rows["angle"]["random"] == {"op": "random.uniform", "args": {"range": [-10, 10]}}
    assert rows["angle"]["low"] == -40  # both thumbs can be told apart
    assert rows["keep_size"]["value"] is True
    assert not rows["keep_size"]["changed"]
    assert "output_dtype" not in rows  # deprecated and not set


def test_a_wide_draw_gets_the_whole_range() -> None:
    graph, catalog = load_recipe("rotate-jitter"), load_catalog()
    angle = dataclasses.replace(graph.node("angle"), args={"range": (-90, 90)})
    view = inspector_view(graph.replace_node(angle), catalog, "rotate", "cpu", ())
    (row,) = [row for row in view["rows"] if row["name"] == "angle"]
    assert (row["low"], row["high"]) == (-180, 180)


def test_an_operator_that_dali_lacks_can_still_be_looked_at() -> None:
    graph, catalog = load_recipe("rotate-jitter"), load_catalog()
    odd = Node("odd", "sharpen_2099", {"x": 1}, {"data": Port("flip", "output")})
    graph = dataclasses.replace(graph, nodes=(*graph.nodes, odd))
    faults = check_graph(graph, catalog)
    nodes = present.node_entries(graph, catalog, infer_devices(graph, catalog), {}, faults)
    assert "sharpen_2099" in nodes[-1]["fault"]
    assert inspector_view(graph, catalog, "odd", "cpu", faults)["rows"] == []


def test_nothing_selected_is_an_empty_inspector() -> None:
    assert inspector_view(Graph(), load_catalog(), "", "", ())["id"] == ""


def test_the_picture_carries_its_header() -> None:
    tiles = (
        Tile(
            0, Sample("a/ä.jpg"), "3", "224×224×3 u8", ("angle 1",), (0, 0, 9, 9), ((9, 0, 9, 9),)
        ),
        Tile(1, Sample("a/b.jpg", "not an image"), "3", "", (), None, ()),
    )
    preview = Preview(b"JPEG", "image/jpeg", (18, 18), tiles, ("images",), "", 2, {}, (), 1.234)
    picture = present.picture_bytes(preview)
    length = int.from_bytes(picture[:4], "little")
    header = json.loads(picture[4 : 4 + length])
    assert picture[4 + length :] == b"JPEG"
    assert header["sheet"] == [18, 18]
    assert header["tiles"][0]["augmented"] == [[9, 0, 9, 9]]
    assert header["tiles"][1]["error"] == "not an image"
    assert header["tiles"][1]["original"] == []


def test_speed_rows_carry_what_they_were_measured_on() -> None:
    cpu = Measurement("cpu", "pipeline", 64, 4, 2, (95.0, 100.0, 108.0))
    mixed = Measurement("mixed", "pipeline", 64, 4, 2, reason="not measured: no GPU")
    rows = present.speed_rows(Report("g", "data", MACHINE, (cpu, mixed)))
    assert (rows[0]["low"], rows[0]["median"], rows[0]["high"]) == (95, 100, 108)
    assert rows[0]["settings"] == "batch 64 · 4 threads · prefetch 2"
    assert rows[0]["machine"] == "A CPU, 2 cores, NVIDIA H200"
    unsteady = dataclasses.replace(cpu, imgs_per_s=(60.0, 100.0, 140.0))
    (row,) = present.speed_rows(Report("g", "data", MACHINE, (unsteady,)))
    assert row["settings"].endswith(" · unstable: the rounds differ by more than 10 %")
    assert rows[1]["median"] is None
    assert rows[1]["reason"] == "not measured: no GPU"


def test_mixed_can_be_chosen_where_there_is_a_gpu() -> None:
    mixed = present.device_choices(MACHINE)[1]
    assert mixed == {"id": "mixed", "label": "Mixed · H200", "disabled": ""}
    without = dataclasses.replace(MACHINE, gpu="", no_gpu="there is none")
    assert present.device_choices(without)[1]["disabled"] == (
        "Mixed decoding needs a GPU: there is none."
    )
