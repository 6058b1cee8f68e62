"""``if`` in a source comes back as a region, and with the same pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.emit.pipeline_import import conditional_pipelines as written
from tests.emit.pipeline_import.graphs import canonical
from tests.helpers import arrays_of, import_script, same
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_file, from_pipeline
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.control_flow.one_of import weights_of

CATALOG = load_catalog()
BATCHES = 3


def brought(make: Any, data: Path | str = "photos") -> Graph:
    found = from_pipeline(make(str(data)))
    assert found.report.is_exact, str(found.report)
    assert check_graph(found.graph, CATALOG) == ()
    return found.graph


def regions(graph: Graph) -> list[Node]:
    return [node for node in graph.walk() if node.bodies]


def ops(graph: Graph, scope: str) -> list[str]:
    return [node.op for node in graph.body_at(scope).nodes]


@pytest.mark.parametrize("make", one_in(4, written.PLAIN), ids=lambda make: make.__name__)
def test_the_same_pixels(make: Any, photos: Path, tmp_path: Path) -> None:
    pipe = make(str(photos))
    graph = brought(make, photos)
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    ours, theirs = script.build_pipeline(str(photos)), pipe
    theirs.build()
    for _ in range(BATCHES):
        for mine, other in zip(ours.run(), theirs.run(), strict=True):
            assert same(arrays_of(mine), arrays_of(other))
    assert canonical(from_pipeline(ours).graph) == canonical(graph)


def test_two_branches() -> None:
    graph = brought(written.two_branches)
    (region,) = regions(graph)
    assert region.inputs == {
        "condition": Port("coin_flip", "output"),
        "images": Port("resize", "output"),
    }
    assert ops(graph, region.scope("then")) == ["random.uniform", "rotate"]
    assert ops(graph, region.scope("else")) == ["gaussian_blur"]
    assert graph.outputs["images"] == Port(region.id, "images")
    for body in region.bodies.values():
        assert (body.inputs, list(body.outputs)) == (("images",), ["images"])


def test_without_else_the_value_goes_through() -> None:
    (region,) = regions(brought(written.without_else))
    assert region.bodies["else"].nodes == ()
    assert region.bodies["else"].outputs == {"images": Port(region.scope("else"), "images")}


def test_two_values_of_one_statement() -> None:
    (region,) = regions(brought(written.two_values))
    assert list(region.bodies["then"].outputs) == ["images", "labels"]
    assert set(region.inputs) == {"condition", "images", "labels"}


def test_elif_over_one_number_is_one_region() -> None:
    graph = brought(written.chain_of_three)
    (region,) = regions(graph)
    assert region.op == "one_of"
    assert region.inputs["choice"] == Port("pick", "output")
    assert [ops(graph, region.scope(name)) for name in region.bodies] == [
        ["rotate"],
        ["flip"],
        ["gaussian_blur"],
    ]
    assert "math.eq" not in {node.op for node in graph.walk()}


def test_so_is_an_if_over_a_choice_of_two() -> None:
    graph = brought(written.choice_of_two)
    (region,) = regions(graph)
    assert (region.op, len(region.bodies)) == ("one_of", 2)
    assert weights_of(graph, region) == (0.75, 0.25)


def test_a_choice_of_more_numbers_than_branches_stays_comparisons() -> None:
    assert [region.op for region in regions(brought(written.choice_of_five))] == ["if", "if"]


def test_elif_over_something_else_is_an_if_in_the_else() -> None:
    graph = brought(written.elif_of_coins)
    outer, inner = regions(graph)
    assert graph.scope_of(inner.id) == outer.scope("else")
    assert (outer.op, inner.op) == ("if", "if")
    assert [ops(graph, inner.scope(name)) for name in inner.bodies] == [["flip"], ["gaussian_blur"]]


def test_numbers_out_of_order_stay_comparisons() -> None:
    graph = brought(written.numbers_out_of_order)
    assert [region.op for region in regions(graph)] == ["if", "if"]


def test_three_deep_with_values_of_outer_scopes_and_plain_numbers() -> None:
    graph = brought(written.three_deep)
    outer, middle, inner = regions(graph)
    assert graph.scope_of(inner.id) == middle.scope("then")
    assert graph.scope_of(middle.id) == outer.scope("then")
    assert inner.bodies["else"].inputs == ("small",)
    assert set(inner.bodies["then"].outputs) == {"images", "amount"}
    drawn = inner.inputs["condition"].node
    assert graph.scope_of(drawn) == middle.scope("then"), "what draws stands where it is used"
    assert inner.inputs["small"] == Port(middle.scope("then"), "small")


def test_statements_of_a_loop_on_one_condition_stay_apart() -> None:
    graph = brought(written.again_and_again)
    assert [list(region.bodies["then"].outputs) for region in regions(graph)] == [
        ["images"],
        ["images"],
        ["images"],
        ["labels"],
    ]


def test_words_become_operators_where_nothing_draws_behind_them() -> None:
    graph = brought(written.words)
    assert len(regions(graph)) == 2
    found = [node.op for node in graph.nodes]
    assert found.count("math.bitand") == found.count("math.bitor") == 2
    assert [len(region.bodies) for region in regions(brought(written.drawn_word))] == [2, 2]


def test_lines_and_seeds_are_the_users() -> None:
    found = from_pipeline(written.two_branches("photos"))
    origins, lines = found.document.origins, Path(written.__file__).read_text().splitlines()
    (region,) = regions(found.graph)
    for node, text in ((region.id, "if turn:"), ("rotate", "fn.rotate("), ("angle", "uniform(")):
        file, _, line = origins[node].partition(":")
        assert file == "conditional_pipelines.py"
        assert text in lines[int(line) - 1]
    seeds = {n.id: n.seed + found.graph.settings.seed for n in found.graph.walk() if n.seed}
    assert seeds["angle"] == 3


def test_copies_to_the_gpu_stand_where_they_are_needed() -> None:
    graph = brought(written.on_the_gpu)
    (region,) = regions(graph)
    devices = {name: [n.op for n in body.nodes] for name, body in region.bodies.items()}
    assert devices == {"then": ["rotate"], "else": ["flip", "copy"]}
    feeding = [graph.node(port.node) for port in region.inputs.values()]
    assert [(node.op, node.device) for node in feeding] == [
        ("random.coin_flip", None),
        ("copy", "gpu"),
        ("resize", None),
    ]


@pytest.mark.thorough
def test_what_a_graph_cannot_hold_stays_opaque_in_its_branch() -> None:
    found = from_pipeline(written.library_inside("photos"))
    (region,) = regions(found.graph)
    (entry,) = found.report.opaque
    assert found.graph.scope_of(entry.node) == region.scope("then")
    assert entry.why.startswith("auto_augment.auto_augment_image_net: ")
    assert ops(found.graph, region.scope("then")) == ["flip", "opaque.1"]


def test_a_serialised_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "pipe.dali"
    pipe = written.three_deep(str(tmp_path))
    path.write_bytes(pipe.serialize())
    assert canonical(from_file(path).graph).regions == canonical(from_pipeline(pipe).graph).regions
