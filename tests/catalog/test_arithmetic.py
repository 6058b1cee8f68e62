from __future__ import annotations

import pytest

from workbench.catalog import Catalog
from workbench.catalog.own_operators.arithmetic import CALLED, arithmetic_specs
from workbench.catalog.own_operators.python_decoder import PILLOW_DECODER, REQUEST


def test_every_function_of_dali_is_there(catalog: Catalog) -> None:
    """``nvidia.dali.math``, and every operator of Python that a ``DataNode`` has."""
    import nvidia.dali.math
    from nvidia.dali.ops._operators import math as operators

    functions = {name for name in vars(nvidia.dali.math) if name.islower() and name[0] != "_"}
    functions -= {"sys"}
    symbols = set(operators._op_display_name) - {"plus"}  # it does nothing
    assert set(CALLED) == functions | symbols
    assert {*CALLED.values(), "subscript", "shape"} == set(arithmetic_specs())
    assert set(arithmetic_specs()) <= set(catalog)


@pytest.mark.parametrize("op", arithmetic_specs().values(), ids=lambda op: op.name)
def test_each_says_what_stands_where(op: object) -> None:
    from workbench.catalog import OpSpec

    assert isinstance(op, OpSpec)
    assert op.expression.count("{}") == len(op.operands)
    names = {*op.args, *(port.name for port in op.inputs)}
    for group in (*op.operands, *op.mutually_exclusive, *op.one_of):
        assert set(group) <= names
    assert not op.inputs[0].optional
    assert all(port.optional for port in op.inputs[1:])
    assert op.unusable is None
    assert op.label
    assert op.summary.endswith(".")
    given = {name for name, arg in op.args.items() if arg.start is not None}
    assert all(given & set(group) for group in op.one_of), "a new node is sound"
    assert all(len(given & set(group)) <= 1 for group in op.mutually_exclusive)


def test_none_is_found_by_the_name_of_a_schema(catalog: Catalog) -> None:
    """Of one hidden operator of DALI there are many here."""
    assert {op.schema for op in arithmetic_specs().values()} == {""}
    without = [op for op in catalog.values() if not op.schema and not op.expression]
    assert {op.name for op in without if not op.module} == {PILLOW_DECODER.name, REQUEST.name}


def test_words_of_a_search_find_them(catalog: Catalog) -> None:
    assert "a * b" in catalog["math.mul"].doc
    assert catalog["math.clamp"].label == "Clamp"
    assert catalog["subscript"].category == "crop"
    assert {catalog[name].category for name in CALLED.values()} == {"arithmetic"}
