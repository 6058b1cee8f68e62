"""Conditionals, loops and tables of bodies come back as the blocks they were written from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given

from tests.block_graphs import BLOCK_GRAPHS, TURN_GRAPHS, turn_graph
from tests.emit.pipeline_import import conditional_pipelines as written
from tests.emit.pipeline_import.graphs import canonical
from tests.emit.pipeline_import.test_graph import AGAIN, CROSSED, IF, READING, SECOND, grown
from tests.emit.pipeline_import.traces import op
from tests.engine.test_some_of import (
    in_order,
    repeated,
    repeated_as_drawn,
    repeated_in_a_repeat,
    repeated_subsets,
    shuffled,
)
from tests.helpers import CATALOG, arrays_of, import_script, same
from tests.thorough import examples, one_in
from workbench.emit import emit_script
from workbench.emit.pipeline_import.calls.conditionals import (
    MERGE,
    SPLIT,
    find_statements,
    walk_ops,
)
from workbench.emit.pipeline_import.control_flow.logic import without_logic
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp
from workbench.engine.importing import from_file, from_pipeline
from workbench.graph import Graph, Node, Port, check_graph

BATCHES = 3


def brought(make: Any, data: Path | str = "photos") -> Graph:
    found = from_pipeline(make(str(data)))
    assert found.report.is_exact, str(found.report)
    assert check_graph(found.graph, CATALOG) == ()
    return found.graph


def blocks(graph: Graph) -> list[Node]:
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
    (block,) = blocks(graph)
    assert block.inputs == {
        "condition": Port("coin_flip", "output"),
        "images": Port("resize", "output"),
    }
    assert ops(graph, block.scope("then")) == ["random.uniform", "rotate"]
    assert ops(graph, block.scope("else")) == ["gaussian_blur"]
    assert graph.outputs["images"] == Port(block.id, "images")
    for body in block.bodies.values():
        assert (body.inputs, list(body.outputs)) == (("images",), ["images"])


def test_without_else_the_value_goes_through() -> None:
    (block,) = blocks(brought(written.without_else))
    assert block.bodies["else"].nodes == ()
    assert block.bodies["else"].outputs == {"images": Port(block.scope("else"), "images")}


def test_two_values_of_one_statement() -> None:
    (block,) = blocks(brought(written.two_values))
    assert list(block.bodies["then"].outputs) == ["images", "labels"]
    assert set(block.inputs) == {"condition", "images", "labels"}


def test_elif_is_an_if_in_the_else() -> None:
    graph = brought(written.chain_of_three)
    outer, inner = blocks(graph)
    assert graph.scope_of(inner.id) == outer.scope("else")
    assert [ops(graph, inner.scope(name)) for name in inner.bodies] == [["flip"], ["gaussian_blur"]]


def test_three_deep_with_values_of_outer_scopes_and_plain_numbers() -> None:
    graph = brought(written.three_deep)
    outer, middle, inner = blocks(graph)
    assert graph.scope_of(inner.id) == middle.scope("then")
    assert graph.scope_of(middle.id) == outer.scope("then")
    assert inner.bodies["else"].inputs == ("small",)
    assert set(inner.bodies["then"].outputs) == {"images", "amount"}
    drawn = inner.inputs["condition"].node
    assert graph.scope_of(drawn) == middle.scope("then"), "what draws stands where it is used"
    assert inner.inputs["small"] == Port(middle.scope("then"), "small")


def test_statements_of_a_loop_on_one_condition_stay_apart() -> None:
    graph = brought(written.again_and_again)
    assert [list(block.bodies["then"].outputs) for block in blocks(graph)] == [
        ["images"],
        ["images"],
        ["images"],
        ["labels"],
    ]


def test_words_become_operators_where_nothing_draws_behind_them() -> None:
    graph = brought(written.words)
    assert len(blocks(graph)) == 2
    found = [node.op for node in graph.nodes]
    assert found.count("math.bitand") == found.count("math.bitor") == 2
    assert [len(block.bodies) for block in blocks(brought(written.drawn_word))] == [2, 2]


def test_lines_and_seeds_are_the_users() -> None:
    found = from_pipeline(written.two_branches("photos"))
    origins, lines = found.document.origins, Path(written.__file__).read_text().splitlines()
    (block,) = blocks(found.graph)
    for node, text in ((block.id, "if turn:"), ("rotate", "fn.rotate("), ("angle", "uniform(")):
        file, _, line = origins[node].partition(":")
        assert file == "conditional_pipelines.py"
        assert text in lines[int(line) - 1]
    seeds = {n.id: n.seed + found.graph.settings.seed for n in found.graph.walk() if n.seed}
    assert seeds["angle"] == 3


def test_copies_to_the_gpu_stand_where_they_are_needed() -> None:
    graph = brought(written.on_the_gpu)
    (block,) = blocks(graph)
    devices = {name: [n.op for n in body.nodes] for name, body in block.bodies.items()}
    assert devices == {"then": ["rotate"], "else": ["flip", "copy"]}
    feeding = [graph.node(port.node) for port in block.inputs.values()]
    assert [(node.op, node.device) for node in feeding] == [
        ("random.coin_flip", None),
        ("copy", "gpu"),
        ("resize", None),
    ]


@pytest.mark.thorough
def test_what_a_graph_cannot_hold_stays_opaque_in_its_branch() -> None:
    found = from_pipeline(written.library_inside("photos"))
    (block,) = blocks(found.graph)
    (entry,) = found.report.opaque
    assert found.graph.scope_of(entry.node) == block.scope("then")
    assert entry.why.startswith("auto_augment.auto_augment_image_net: ")
    assert ops(found.graph, block.scope("then")) == ["flip", "opaque.1"]


def test_a_serialised_pipeline(tmp_path: Path) -> None:
    path = tmp_path / "pipe.dali"
    pipe = written.three_deep(str(tmp_path))
    path.write_bytes(pipe.serialize())
    assert canonical(from_file(path).graph).blocks == canonical(from_pipeline(pipe).graph).blocks


# A script without its graph outputs the same pixels, also with a loop or options.

TURN_BATCHES = 2


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.parametrize(
    "make",
    one_in(
        3, [in_order, shuffled, repeated, repeated_as_drawn, repeated_in_a_repeat, repeated_subsets]
    ),
    ids=lambda make: make.__name__,
)
def test_a_script_of_blocks(make: Callable[[], Graph], photos: Path, scripts: Path) -> None:
    _assert_same_pixels(make(), photos, scripts)


@pytest.mark.thorough
@examples(2, thorough=100)
@given(graph=BLOCK_GRAPHS)
def test_any_blocks(graph: Graph, photos: Path, scripts: Path) -> None:
    listed = scripts / "list.txt"
    listed.write_text("".join(f"{file} 3\n" for file in sorted(photos.rglob("*.jpg"))))
    _assert_same_pixels(graph, photos, scripts, listed)


@pytest.mark.thorough
@examples(2, thorough=100)
@given(graph=TURN_GRAPHS)
@example(graph=turn_graph([0, 362, 362, 362, 0, 0, 195, 1000, 298, 195, 619, 965, 188, 0]))
@example(graph=turn_graph([557, 781, 703, 475, 986, 0, 530, 422, 683, 466, 0, 16, 267, 607, 945]))
def test_what_comes_back_has_the_same_pixels(graph: Graph, photos: Path, scripts: Path) -> None:
    _assert_same_pixels(graph, photos, scripts)


def _assert_same_pixels(graph: Graph, photos: Path, scripts: Path, *others: Path) -> None:
    data = [str(photos), *map(str, others)]
    script = import_script(emit_script(graph, CATALOG).text, scripts)
    theirs = script.build_pipeline(*data)
    found = from_pipeline(script.build_pipeline(*data))
    assert found.report.is_exact, str(found.report)
    assert check_graph(found.graph, CATALOG) == ()
    ours = import_script(emit_script(found.graph, CATALOG).text, scripts)
    pipe = ours.build_pipeline(*data)
    for _ in range(TURN_BATCHES):
        for mine, other in zip(pipe.run(), theirs.run(), strict=True):
            assert same(arrays_of(mine), arrays_of(other))


# Splits and merges are put together to the statements that they were made of.

LAST = [TracedInput("__M_22", "cpu")]


def test_an_elif_stands_in_the_else_and_a_second_statement_behind() -> None:
    ops = [*READING, *IF, *AGAIN]
    block, outputs = find_statements(ops, LAST, Lines({}, ops))
    first, second = block.statements.values()
    assert (first.outputs, second.outputs) == (("__M_18",), ("__M_22",))
    then, otherwise = first.bodies
    assert [one.schema for one in then.ops] == ["random__Uniform", "Rotate"]
    assert [one.name for one in otherwise.ops] == [SECOND, "__M_17"], "it is asked there alone"
    (inner,) = otherwise.statements.values()
    assert [[one.schema for one in body.ops] for body in inner.bodies] == [["Flip"], []]
    assert list(outputs) == LAST
    assert not any(one.schema in (SPLIT, MERGE) for one in walk_ops(block))


def test_what_crosses_branches_is_left_as_it_is() -> None:
    ops = [*READING, *CROSSED]
    block, _ = find_statements(ops, [TracedInput("__M_18", "cpu")], Lines({}, ops))
    assert list(block.statements) == ["__M_17"], "the inner one is none the worse"
    left = [one.schema for one in block.ops]
    assert (left.count(SPLIT), left.count(MERGE)) == (3, 1)


def test_a_merge_without_a_split() -> None:
    alone = op(MERGE, "__M_9", "__Image_0", "__Image_0", replace_predicate(READING))
    ops = [*READING, alone]
    block, _ = find_statements(ops, [TracedInput("__M_9", "cpu")], Lines({}, ops))
    assert list(block.ops) == ops


def replace_predicate(ops: list[TracedOp]) -> TracedInput:
    return TracedInput(ops[-1].name, "cpu", "predicate")


@given(grown())
def test_any_calls(drawn: tuple[list[TracedOp], list[str]]) -> None:
    """Nothing is lost: what was made is made still, each call behind what feeds it."""
    ops, edges = drawn
    ops = [replace(one, places=()) for one in ops]
    block, outputs = find_statements(ops, [TracedInput(e, "cpu") for e in edges], Lines({}, ops))
    kept = {one.name for one in walk_ops(block)}
    assert {one.name for one in ops if one.schema not in (SPLIT, MERGE)} <= kept
    known: set[str] = set()
    for one in block.ops:
        assert {edge.edge for edge in one.inputs} <= known
        known |= {edge for edge, _ in one.outputs}
    assert {edge.edge for edge in outputs} <= known


# ``and``, ``or`` and ``not`` become operators where nothing draws behind them.

CHECK = "_conditional__ValidateLogical"
COINS = [op("random__CoinFlip", name) for name in ("__A_1", "__B_2")]


def on(predicate: str) -> TracedInput:
    return TracedInput(predicate, "cpu", "predicate")


def logical_calls(word: str, between: str = "Cast") -> list[TracedOp]:
    """``a and b``, or ``a or b``, with a call between the split and the right side."""
    side = 0 if word == "and" else 1
    ends = [f"__Right_{7}", f"__Own_{5}[{1 - side}]"]
    return [
        *COINS,
        op(CHECK, "__Left_3", "__A_1", expression_name=word, expression_side="left"),
        op(SPLIT, "__Split_4", "__B_2", on("__Left_3"), outputs=2),
        op(SPLIT, "__Own_5", "__Left_3", on("__Left_3"), outputs=2),
        op(between, "__Between_6", f"__Split_4[{side}]"),
        op(CHECK, "__Right_7", "__Between_6", expression_name=word, expression_side="right"),
        op(MERGE, "__Merge_8", *(ends if side == 0 else reversed(ends)), on("__Left_3")),
    ]


@pytest.mark.parametrize(("word", "operator"), [("and", "bitand"), ("or", "bitor")])
def test_two_sides(word: str, operator: str) -> None:
    calls, (output,) = without_logic(
        logical_calls(word), [TracedInput("__Merge_8", "cpu")], {"Noise"}
    )
    assert [call.name for call in calls] == ["__A_1", "__B_2", "__Between_6", "__Merge_8"]
    *_, between, result = calls
    assert [edge.edge for edge in between.inputs] == ["__B_2"]
    assert [edge.edge for edge in result.inputs] == ["__A_1", "__Between_6"]
    assert result.args["expression_desc"] == f"{operator}(&0 &1)"
    assert output.edge == "__Merge_8"


def test_what_draws_behind_the_word_stays_where_it_is() -> None:
    calls, _ = without_logic(
        logical_calls("and", "Noise"), [TracedInput("__Merge_8", "cpu")], {"Noise"}
    )
    assert [call.schema for call in calls].count(SPLIT) == 2
    merge = calls[-1]
    assert merge.schema == MERGE
    assert merge.inputs[-1] == on("__A_1"), "the truth value itself controls"


def test_not() -> None:
    ops = [COINS[0], op("_conditional__Not_", "__Not_2", "__A_1")]
    calls, _ = without_logic(ops, [TracedInput("__Not_2", "cpu")], ())
    assert calls[-1].args == {"expression_desc": "eq(&0 $0:int32)", "integer_constants": (0,)}
