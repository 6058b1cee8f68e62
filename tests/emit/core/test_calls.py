"""Literals and calls: whatever a text holds, it stays a text."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import NO_NAMES, TEXTS, VALUES
from workbench.catalog import ArgSpec, Value
from workbench.emit.core.python import LINE, call, constant, fraction, identifier, literal, written
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
    text = written((value,) * 3, ArgSpec("mean", "float", constant="MEAN"))
    assert [np.float32(each) for each in eval(text)] == [np.float32(value)] * 3


def test_means_are_shares_of_255() -> None:
    arg = ArgSpec("mean", "float", constant="MEAN")
    assert written((123.675, 116.28, 103.53), arg) == "[0.485 * 255, 0.456 * 255, 0.406 * 255]"
    assert written((58.395, 57.12, 57.375), arg) == "[0.229 * 255, 0.224 * 255, 0.225 * 255]"
    for plain in ((127.5, 127.5, 127.5), (0.485, 0.456, 0.406), (123.68, 116.779, 103.939)):
        assert written(plain, arg) == literal(plain)


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
