"""Literals, calls and expressions in emitted source: whatever a text holds, it stays a text."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CATALOG, NO_NAMES, TEXTS, VALUES, with_node, with_nodes
from tests.placed import placed
from workbench.catalog import ArgSpec, Value
from workbench.emit.core.code import Code
from workbench.emit.core.expressions import (
    constant_type,
    expression_parts,
    number_of,
    plain_constant,
)
from workbench.emit.core.python import (
    LINE,
    call,
    constant,
    fraction,
    identifier,
    literal,
    literal_text,
)
from workbench.emit.emitter import Emitter
from workbench.errors import GraphError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import insert_node, new_node, set_setting
from workbench.graph.fixes.unfed_inputs import feed_input
from workbench.graph.model.node_order import topological
from workbench.graph.resolved import ResolvedGraph


@given(VALUES)
def test_a_literal_reads_back_as_the_value(value: Value) -> None:
    def as_lists(item: Value) -> object:
        return [as_lists(inner) for inner in item] if isinstance(item, tuple) else item

    back = ast.literal_eval(literal(value))
    assert back == as_lists(value)
    assert repr(back) == repr(as_lists(value))


@given(TEXTS)
def test_a_text_is_one_line_in_quotes(text: str) -> None:
    source = literal(text)
    assert source.splitlines() == [source]
    assert ast.literal_eval(source) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00392156862745098, "1 / 255"),
        (0.003921569, "1 / 255"),  # as DALI has it
        (1.3333334, "4 / 3"),
        (-0.33333334, "-1 / 3"),
        (0.75, "0.75"),
        (0.1234567, "0.1234567"),
        (1e-07, "1e-07"),
        (123.675, "123.675"),
    ],
)
def test_fractions_are_written_as_such(value: float, text: str) -> None:
    assert fraction(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_written_number_is_the_same_to_dali(value: float) -> None:
    text = literal_text((value,) * 3, ArgSpec("mean", "float", constant="MEAN"))
    assert [np.float32(each) for each in eval(text)] == [np.float32(value)] * 3


def test_means_are_shares_of_255() -> None:
    arg = ArgSpec("mean", "float", constant="MEAN")
    assert literal_text((123.675, 116.28, 103.53), arg) == "[0.485 * 255, 0.456 * 255, 0.406 * 255]"
    assert literal_text((58.395, 57.12, 57.375), arg) == "[0.229 * 255, 0.224 * 255, 0.225 * 255]"
    for plain in ((127.5, 127.5, 127.5), (0.485, 0.456, 0.406), (123.68, 116.779, 103.939)):
        assert literal_text(plain, arg) == literal(plain)


def test_quotes_are_those_that_ruff_chooses() -> None:
    assert literal("plain") == '"plain"'
    assert literal("it's") == '"it\'s"'
    assert literal('say "so"') == "'say \"so\"'"
    assert literal(1e16) == "1e16"
    assert literal(1e-7) == "1e-07"


def test_enum_members_are_names_and_nothing_else() -> None:
    arg = ArgSpec("dtype", "enum", enum="DALIDataType")
    assert literal("FLOAT", arg) == "types.FLOAT"
    assert literal(("FLOAT", "UINT8"), arg) == "[types.FLOAT, types.UINT8]"
    for hostile in (*NO_NAMES, "a.b()", "", "class", "FLOAT, x=1", "FLOAT\n"):
        with pytest.raises(GraphError, match="is not a Python name"):
            literal(hostile, arg)


@pytest.mark.parametrize(
    "name", [*NO_NAMES, "", "a..b", ".a", "a.", "if", "a.if", "1a", "a b", "a\n"]
)
def test_what_is_no_name_never_becomes_one(name: str) -> None:
    with pytest.raises(GraphError, match="is not a Python name"):
        identifier(name)


def test_names_and_paths_of_names() -> None:
    assert identifier("rotate") == "rotate"
    assert identifier("random.uniform") == "random.uniform"
    assert identifier("größe") == "größe"


def test_calls_break_where_ruff_breaks_them() -> None:
    assert call("x", "fn.rotate", ["x", "angle=3"]) == ["    x = fn.rotate(x, angle=3)"]
    assert call("", "fn.f", []) == ["    fn.f()"]
    wide = [f"argument_{i}=1.0" for i in range(5)]
    assert call("x", "fn.rotate", wide) == [
        "    x = fn.rotate(",
        f"        {', '.join(wide)}",
        "    )",
    ]
    wider = [f"argument_{i}=1.0" for i in range(8)]
    lines = call("x", "fn.rotate", wider)
    assert lines[1] == "        argument_0=1.0,"
    assert len(lines) == 10
    assert max(map(len, lines)) <= LINE


def test_long_lists_are_wrapped() -> None:
    assert constant("MEAN", "[1, 2]") == ["MEAN = [1, 2]"]
    values = list(range(100))
    lines = constant("KEYS", literal(tuple(values)))
    assert lines[0] == "KEYS = ["
    assert lines[-1] == "]  # fmt: skip"
    assert max(map(len, lines)) <= LINE
    assert ast.literal_eval("\n".join(lines).partition(" = ")[2]) == values


def test_a_node_set_to_the_gpu_takes_its_inputs_there() -> None:
    graph = load_recipe("rotate-jitter")
    graph = with_node(graph, "rotate", device="gpu")
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    lines = " ".join(emitter.node_lines(graph.node("rotate")).text)
    assert "fn.rotate(images.gpu(), " in lines
    assert "angle=angle" in lines
    assert "device=" not in lines


def test_a_node_without_inputs_names_its_device() -> None:
    graph = load_recipe("rotate-jitter")
    graph = with_node(graph, "angle", device="gpu")
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    assert 'device="gpu"' in " ".join(emitter.node_lines(graph.node("angle")).text)


def lines_of(graph: Graph, node: str) -> str:
    emitter = Emitter(ResolvedGraph(graph, CATALOG), topological(graph)[0])
    return " ".join(line.strip() for line in emitter.node_lines(graph.node(node)).text)


def test_data_from_the_gpu_are_brought_to_a_node_set_to_the_cpu() -> None:
    graph = set_setting(load_recipe("rotate-jitter"), device="mixed")
    graph = with_node(graph, "rotate", device="cpu")
    assert "fn.rotate(images.cpu(), " in lines_of(graph, "rotate")
    assert "device=" not in lines_of(graph, "rotate")
    assert ".cpu()" not in lines_of(graph, "color")


def test_a_copy_to_the_other_side_is_a_transfer_and_no_operator() -> None:
    graph, _ = insert_node(load_recipe("rotate-jitter"), CATALOG, "copy", "resize")
    assert lines_of(graph, "copy") == "images = fn.copy(images)"
    for device in ("cpu", "gpu"):
        moved = with_node(graph, "copy", device=device)
        assert lines_of(moved, "copy") == f"images = images.{device}()"


def test_what_only_asks_for_a_shape_says_that_it_stays_on_the_cpu() -> None:
    graph, node = placed(CATALOG["zeros_like"], device="mixed")
    assert lines_of(graph, node) == 'out_output = fn.zeros_like(out_output, device="cpu")'


def test_a_second_input_follows_the_first_to_the_gpu() -> None:
    graph, node = placed(CATALOG["cat"], device="mixed")
    graph = with_nodes(graph, new_node(graph, CATALOG, "ones"))
    graph = feed_input(graph, CATALOG, Port("ones", "output"), node, "input_1")
    assert "fn.cat(out_output, ones.gpu(), " in lines_of(graph, node)


def test_a_line_leads_to_its_node() -> None:
    source = Code("", {"a": range(3, 5), "b": range(5, 6)})
    assert [source.node_at(line) for line in range(2, 7)] == [None, "a", "a", "b", None]


@pytest.mark.parametrize(
    ("written", "operands", "parts"),
    [
        ("{} + {}", ["a", "b"], ["a", "+ b"]),
        ("-{}", ["a"], ["-a"]),
        ("math.sqrt({})", ["a"], ["math.sqrt(", "a", ")"]),
        ("math.clamp({}, {}, {})", ["a", "0", "b"], ["math.clamp(", "a", "0", "b", ")"]),
        ("{}[{}]", ["a", ":, 3:9"], ["a[:, 3:9]"]),
        ("{}.slice[{}]", ["a", "0"], ["a.slice[0]"]),
    ],
)
def test_parts(written: str, operands: list[str], parts: list[str]) -> None:
    assert expression_parts(written, operands) == parts


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (2, "FLOAT", "2.0"),
        (1e30, "FLOAT", "1e30"),
        (2.0, "INT32", "2"),
        (-1, "INT32", "-1"),
        (1, "BOOL", "True"),
        (5, "UINT8", None),
        (0.5, "FLOAT64", None),
    ],
)
def test_constants(value: float, dtype: str, text: str | None) -> None:
    assert plain_constant(value, dtype) == text


def test_the_type_of_a_constant() -> None:
    assert constant_type(Node("a", "math.add"), CATALOG["math.add"]) == "FLOAT"
    assert constant_type(Node("a", "math.bitor"), CATALOG["math.bitor"]) == "INT32"
    given = Node("a", "math.add", {"constant_type": "UINT8"})
    assert constant_type(given, CATALOG["math.add"]) == "UINT8"


def test_what_is_no_number_becomes_no_code() -> None:
    with pytest.raises(GraphError, match="is not a number"):
        number_of("0); import os", "FLOAT")
