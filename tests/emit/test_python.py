"""Literals and calls: whatever a text holds, it stays a text."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given

from tests.helpers import NO_NAMES, TEXTS, VALUES
from workbench.catalog import ArgSpec, Value
from workbench.emit.python import LINE, call, constant, identifier, literal
from workbench.errors import GraphError


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
