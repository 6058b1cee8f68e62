"""Values of the screen: what is known of a graph, and what is computed for which change."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.ui.screen import Ready, unpack
from workbench.catalog import load_catalog
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.process_memory import MemoryUse
from workbench.errors import WorkbenchError
from workbench.graph import Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import PreviewRequest, PreviewResult, Tile
from workbench.ui.app import field_values
from workbench.ui.canvas.canvas_payloads import node_entries
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.inspector.argument_rows import inspector_view
from workbench.ui.preview import presenters
from workbench.ui.state.identity_memo import IdentityMemo
from workbench.ui.state.view_state import failure_of, shuffles_files

# What is known of a graph before it runs, and of an error after it.


def test_a_message_that_ends_a_sentence_gets_no_second_full_stop() -> None:
    assert str(failure_of(WorkbenchError("There is no folder.")).faults[0]) == "There is no folder."


def test_another_seed_means_other_photos_where_a_reader_shuffles() -> None:
    graph = load_recipe("rotate-jitter")
    assert shuffles_files(graph)
    assert not shuffles_files(set_arg(graph, load_catalog(), "reader", "random_shuffle", False))
    assert not shuffles_files(load_recipe("imagenet-eval"))


def test_any_error_that_names_its_node_is_shown_there() -> None:
    class NamedError(WorkbenchError):
        node = "rotate"

    fault = failure_of(NamedError("rotate: it is too late.")).faults[0]
    assert (fault.node, fault.message) == ("rotate", "it is too late")
    assert failure_of(WorkbenchError("too late")).faults[0].node == ""


# What graphs and results look like on the screen.

MACHINE = dataclasses.replace(
    describe_machine(), cpu="A CPU", cores=2, gpu="NVIDIA H200", no_gpu=""
)


@pytest.mark.parametrize("recipe", load_recipes())
def test_every_recipe_has_nodes_and_rows_that_are_json(recipe: str) -> None:
    graph, catalog = load_recipe(recipe), load_catalog()
    nodes = node_entries(
        TypedGraph(graph, catalog), Layout(), infer_devices(graph, catalog), {}, {}, ()
    )
    held = [node["id"] for node in nodes if not node["movable"]]
    flat = {node.id for node in graph.nodes if not node.bodies}
    decoders = [node.id for node in graph.nodes if node.op.startswith("decoders.")]
    assert [node for node in held if node in flat] == ["reader", *decoders]
    for node in nodes:
        view = inspector_view(TypedGraph(graph, catalog), node["id"], node["device"], ())
        json.dumps(view, allow_nan=False)
        names = [row["name"] for row in view["rows"]]
        assert len(names) == len(set(names))
        assert not {"file_root", "preserve", "seed"} & set(names)


def test_an_operator_that_dali_lacks_can_still_be_looked_at() -> None:
    graph, catalog = load_recipe("rotate-jitter"), load_catalog()
    odd = Node("odd", "sharpen_2099", {"x": 1}, {"data": Port("flip", "output")})
    graph = dataclasses.replace(graph, nodes=(*graph.nodes, odd))
    faults = check_graph(graph, catalog)
    nodes = node_entries(
        TypedGraph(graph, catalog), Layout(), infer_devices(graph, catalog), {}, {}, faults
    )
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
    header, image = unpack(picture)
    assert image == b"JPEG"
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


# Values are computed again only for other objects.


def test_the_same_objects_give_the_same_value() -> None:
    calls: list[object] = []

    def length(items: list[int], more: list[int]) -> list[int]:
        calls.append(items)
        return [*items, *more]

    memo, first, second = IdentityMemo(), [1], [2]
    value = memo(length, first, second)
    assert memo(length, first, second) is value
    assert calls == [first]
    assert memo(length, first, [2]) == value  # equal is not the same
    assert len(calls) == 2


def test_each_function_has_a_value_of_its_own() -> None:
    memo, items = IdentityMemo(), [2, 1]
    assert (memo(sorted, items), memo(len, items)) == ([1, 2], 2)
    assert memo(sorted, items) is memo(sorted, items)


# What is computed for which change.

COSTLY = (
    "dump_document", "_devices", "on_visible_nodes", "node_entries", "edge_entries",
    "copied_text", "inspector_view", "saved_sample_entries",
    "scope_entries", "data_parameters", "shuffles_files",
)  # fmt: skip


def test_a_tick_of_progress_computes_nothing_anew(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    computed: list[str] = []

    def counting(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compute)
        def counted(*args: Any, **options: Any) -> Any:
            computed.append(name)
            return compute(*args, **options)

        return counted

    for name in COSTLY:
        monkeypatch.setattr(field_values, name, counting(name, getattr(field_values, name)))
    with model.lock:
        model._refresh()
        computed.clear()
        screen.published.clear()
        model._on_folder("Checked 100 of 120 files.")
        assert screen.published == [("bar", "message")]
        assert computed == []
    model.receive("canvas", "selected", ["color"])
    assert computed == ["copied_text", "inspector_view"]
    computed.clear()
    model.act("bar", {"do": "title", "name": "other"})
    assert set(computed) == set(COSTLY)


def test_two_components_may_have_a_field_of_one_name(ready: Ready) -> None:
    model, screen = ready
    having = [of.name for of in COMPONENTS if any(f.name == "in_view" for f in of.fields)]
    assert having == ["canvas", "code"]
    assert model.receive("code", "in_view", True) == ""
    assert (screen["canvas", "in_view"], model.state.code_in_view) == (False, True)
    assert model.receive("canvas", "in_view", True) == ""
    assert model.receive("code", "in_view", False) == ""
    assert (model.state.canvas_in_view, model.state.code_in_view) == (True, False)
    assert "code.seed cannot be 7" in model.receive("code", "seed", 7)
    assert model.graph.settings.seed == 42
