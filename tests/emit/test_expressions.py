from __future__ import annotations

import pytest

from workbench.catalog import load_catalog
from workbench.emit.core.expressions import (
    constant_type,
    expression_parts,
    number_of,
    plain_constant,
)
from workbench.errors import GraphError
from workbench.graph import Node

CATALOG = load_catalog()


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
    with pytest.raises(GraphError, match="is no number"):
        number_of("0); import os", "FLOAT")
