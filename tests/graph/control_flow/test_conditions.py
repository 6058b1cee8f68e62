from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.control_flow.conditions import (
    MEASURES,
    Chance,
    Comparison,
    Condition,
    LabelIs,
    NumberIs,
    SizeIs,
    add_elif,
    condition_of,
    condition_sources,
    elif_of,
    set_condition,
)
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import insert_node, rename_node
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.inspector.condition_actions import condition_text

CATALOG = load_catalog()
PLAIN = load_recipe("rotate-jitter")
BRANCHED, BLOCK = wrap_in_block(PLAIN, CATALOG, ["rotate"])
NESTED, INNER = wrap_in_block(BRANCHED, CATALOG, ["rotate"])
BRIGHTNESS = Port("brightness", "output")

CONDITIONS: list[Condition] = [
    Chance(0.3),
    LabelIs((3,)),
    LabelIs((0, 4, 7)),
    *(SizeIs(measure, "<", 1.5 if measure == "aspect" else 500) for measure in MEASURES),
    *(NumberIs(comparison, 0.5) for comparison in get_args(Comparison)),
]


def asked(graph: Graph, block: str = BLOCK) -> Condition | None:
    found = condition_of(
        TypedGraph(graph.at_scope(graph.scope_of(block)), CATALOG), graph.node(block)
    )
    return found[0] if found else None


def written(graph: Graph) -> list[str]:
    """The lines that decide."""
    assert not check_graph(graph, CATALOG)
    text = emit_script(graph, CATALOG).text
    lines = text[text.index("fn.readers") : text.index("def build_pipeline")].splitlines()
    return [line.strip() for line in lines if line.strip().startswith(("if ", "elif ", "else:"))]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(("graph", "block"), [(BRANCHED, BLOCK), (NESTED, INNER)])
def test_a_condition_is_read_off_its_nodes(graph: Graph, block: str, condition: Condition) -> None:
    changed = set_condition(graph, CATALOG, block, condition)
    assert not check_graph(changed, CATALOG)
    assert asked(changed, block) == condition
    back = set_condition(changed, CATALOG, block, Chance(0.5))
    assert {node.id for node in back.walk()} == {node.id for node in graph.walk()}
    assert back.node(block).inputs == graph.node(block).inputs


def test_the_code_is_what_a_person_would_write() -> None:
    for condition, line in (
        (LabelIs((3,)), "if labels[0] == 3:"),
        (LabelIs((3, 5)), "if (labels[0] == 3) | (labels[0] == 5):"),
        (SizeIs("height", ">", 500), "if images.shape()[0] > 500:"),
        (
            SizeIs("longer side", ">=", 500),
            "if math.max(images.shape()[0], images.shape()[1]) >= 500:",
        ),
        (SizeIs("aspect", "<", 1), "if images.shape()[1] / images.shape()[0] < 1.0:"),
    ):
        assert written(set_condition(BRANCHED, CATALOG, BLOCK, condition))[0] == line
    many = set_condition(BRANCHED, CATALOG, BLOCK, LabelIs(tuple(range(12))))
    text = emit_script(many, CATALOG).text
    assert "    if (\n        (labels[0] == 0)\n        | (labels[0] == 1)\n" in text


def test_the_size_is_that_of_the_photo_where_the_picture_has_one_size_only() -> None:
    sources = condition_sources(TypedGraph(BRANCHED, CATALOG), BLOCK)
    assert sources["size"] == [Port("decode", "output"), Port("resize", "output")]
    assert sources["label"] == [Port("reader", "labels")]
    assert BRIGHTNESS in sources["comparison"]
    assert Port("chance", "output") not in sources["comparison"]
    graph = set_condition(BRANCHED, CATALOG, BLOCK, SizeIs(), Port("resize", "output"))
    assert "resize.shape()" in emit_script(graph, CATALOG).text.replace("images.", "resize.")


def test_a_number_of_the_graph_decides() -> None:
    graph = set_condition(BRANCHED, CATALOG, BLOCK, NumberIs("<", 1), BRIGHTNESS)
    assert written(graph)[0] == "if brightness < 1.0:"
    other = set_condition(graph, CATALOG, BLOCK, NumberIs(">", 1.1))
    assert condition_of(TypedGraph(other, CATALOG), other.node(BLOCK)) == (
        NumberIs(">", 1.1),
        BRIGHTNESS,
    )


def test_what_others_read_stays() -> None:
    graph = set_condition(BRANCHED, CATALOG, BLOCK, LabelIs((1,)))
    graph = replace(graph, outputs={**graph.outputs, "first": Port("eq", "output")})
    graph = set_condition(graph, CATALOG, BLOCK, LabelIs((2,)))
    assert graph.node("eq").args["right"] == 1
    assert asked(graph) == LabelIs((2,))


def test_in_a_loop_it_is_asked_of_what_was_changed() -> None:
    repeated, _ = wrap_in_block(NESTED, CATALOG, [BLOCK], "repeat")
    graph = set_condition(repeated, CATALOG, INNER, LabelIs((1,)))
    assert not check_graph(graph, CATALOG)
    assert asked(graph, INNER) == LabelIs((1,))
    graph = set_condition(graph, CATALOG, INNER, SizeIs())
    assert not check_graph(graph, CATALOG)
    assert asked(graph, INNER) == SizeIs()


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Chance(1.5), "Use a number from 0 to 1"),
        (LabelIs(()), "Use 1 to 12"),
        (LabelIs((3, -1)), r"compares with class -1\. Classes are numbered from 0"),
        (LabelIs((2**40,)), "numbered from 0 to 2147483647"),
        (SizeIs("depth", ">", 5), "measures 'depth'.*longer side"),  # type: ignore[arg-type]
        (SizeIs("height", "=>", 5), "compares with '=>'.*>="),  # type: ignore[arg-type]
        (NumberIs("~", 1), "compares with '~'"),  # type: ignore[arg-type]
        (LabelIs(tuple(range(13))), "compares with 13 classes"),
        (SizeIs("height", ">", 0), "above 0"),
        (SizeIs("height", ">", float("nan")), "above 0"),
        (NumberIs("<", float("inf")), "finite number"),
    ],
)
def test_what_no_sample_can_have_is_refused(condition: Condition, words: str) -> None:
    with pytest.raises(GraphEditError, match=words):
        set_condition(BRANCHED, CATALOG, BLOCK, condition)


@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan"), 10**400])
def test_a_probability_that_cannot_be_is_no_chance(probability: float) -> None:
    coin = BRANCHED.node(BRANCHED.node(BLOCK).inputs["condition"].node)
    graph = BRANCHED.replace_node(coin.with_args({"probability": probability}))
    assert asked(graph) is None


def test_so_is_what_cannot_be_asked() -> None:
    with pytest.raises(GraphEditError, match="'rotate' \\(rotate\\) is not an if"):
        set_condition(BRANCHED, CATALOG, "rotate", Chance())
    with pytest.raises(GraphEditError, match=r"color\.output cannot be"):
        set_condition(BRANCHED, CATALOG, BLOCK, SizeIs(), Port("color", "output"))
    with pytest.raises(GraphEditError, match="'rotate' \\(rotate\\) is not an if"):
        add_elif(BRANCHED, CATALOG, "rotate")


def test_an_elif_stands_behind_those_that_are_there() -> None:
    graph = set_condition(BRANCHED, CATALOG, BLOCK, SizeIs("width", ">", 500))
    graph, second = add_elif(graph, CATALOG, BLOCK)
    graph = set_condition(graph, CATALOG, second, LabelIs((3, 5)))
    graph, third = add_elif(graph, CATALOG, BLOCK)
    graph = set_condition(graph, CATALOG, third, SizeIs("aspect", "<", 1))
    assert written(graph) == [
        "if images.shape()[1] > 500:",
        "elif (labels[0] == 3) | (labels[0] == 5):",
        "elif images.shape()[1] / images.shape()[0] < 1.0:",
        "else:",
    ]
    inner = elif_of(graph.node(BLOCK))
    assert inner is not None
    assert inner.id == second
    graph = set_condition(graph, CATALOG, third, Chance(0.2))
    assert written(graph)[2:] == ["elif chance:", "else:"]


def test_what_ran_otherwise_runs_behind_the_elif() -> None:
    otherwise = BRANCHED.at_scope(f"{BLOCK}.else")
    inside, _ = insert_node(otherwise, CATALOG, "equalize", otherwise.scope)
    graph, added = add_elif(inside.whole, CATALOG, BLOCK)
    assert not check_graph(graph, CATALOG)
    assert graph.scope_of("equalize") == f"{added}.else"
    assert not graph.node(added).bodies["then"].nodes
    graph = rename_node(graph, added, "second")
    assert elif_of(graph.node(BLOCK)) == graph.node("second")
    assert written(graph) == ["if chance:", "elif chance_2:", "else:"]


def test_a_label_below_0_is_named_by_its_number() -> None:
    """Not by the last class, which the index -1 means in Python."""
    labelled = set_condition(BRANCHED, CATALOG, BLOCK, LabelIs((3,)))
    test = next(node for node in labelled.nodes if node.args.get("right") == 3)
    below = labelled.replace_node(replace(test, args={**test.args, "right": -1}))
    for classes in ((), ("ant", "bee")):
        words = condition_text(TypedGraph(below, CATALOG), below.node(BLOCK), classes)
        assert words == "label -1"
