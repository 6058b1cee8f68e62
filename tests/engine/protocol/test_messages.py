"""Values travel by their types, unchanged, or are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, Protocol, TypeVar

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedOp,
    TracedPipeline,
)
from workbench.engine.protocol.codec import arguments_codec, codec_of, result_codec
from workbench.engine.protocol.registry import sendable
from workbench.engine.reading.undecodable_samples import Sample
from workbench.errors import EngineError
from workbench.graph import Graph, Port, load_recipes
from workbench.preview import PreviewRequest


@dataclass(frozen=True, slots=True)
class Measured:
    name: str
    values: tuple[float, ...]
    lines: Mapping[str, range]
    device: Literal["cpu", "gpu"] = "cpu"
    graph: Graph | None = None


Kind = TypeVar("Kind", bound=np.generic)
Aliased = TypeAliasType("Aliased", np.ndarray[Any, np.dtype[Kind]], type_params=(Kind,))
"""What NumPy's NDArray is from 2.5 on."""
Rows = TypeAliasType("Rows", list[tuple[int, str]])


class Shape(Protocol):
    def area(self) -> float: ...


@sendable
@dataclass(frozen=True)
class Square:
    side: float
    options: Mapping[str, Any]

    def area(self) -> float:
        return self.side**2


@dataclass(frozen=True)
class Circle:
    radius: float

    def area(self) -> float:
        return 3 * self.radius**2


def there_and_back(hint: Any, value: Any) -> Any:
    codec = codec_of(hint)
    return codec.decode(memoryview(codec.encode(value)))


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")).map(Path),
    lambda each: st.lists(each) | st.lists(each).map(tuple) | st.dictionaries(st.text(), each),
    max_leaves=10,
)


@given(PLAIN)
def test_plain_values_come_back_as_they_are(value: Any) -> None:
    found = there_and_back(Any, value)
    assert found == value
    assert repr(found) == repr(value), "also the types"


@pytest.mark.parametrize("value", [object(), lambda: None, {1, 2}, 2**70, [Circle(1.0)]])
def test_what_cannot_be_sent(value: Any) -> None:
    with pytest.raises((TypeError, OverflowError), match=r"cannot be sent|can't serialize ints"):
        codec_of(Any).encode(value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Measured, Measured("a", (1.0, 2.5), {"rotate": range(3, 7)}, "gpu")),
        (list[Measured] | None, None),
        (tuple[int, Measured | None], (3, Measured("b", (), {}))),
        (tuple[Port, ...], (Port("a", "b"),)),
        (dict[str, range], {"a": range(2)}),
        (Mapping[str, Value], {"a": ((1, 2.5), "x", (True,)), "b": 3}),
        (
            Traced,
            Traced(
                TracedPipeline(
                    (TracedOp("Rotate", "r", "cpu", args={"angle": (1.0, (2,))},
                              places=(SourceLocation("a.py", 1, "f", "x"),)),),
                    (), 4, 2, None, None,
                )
            ),
        ),
    ],
)  # fmt: skip
def test_declared_types(hint: Any, value: Any) -> None:
    found = there_and_back(hint, value)
    assert found == value
    assert repr(found) == repr(value)


@pytest.mark.parametrize("name", sorted(load_recipes()))
def test_graphs_and_requests(name: str) -> None:
    graph = load_recipes()[name]
    request = PreviewRequest(graph, "photos", batch=3, tiles=5, shown="augmented")
    assert there_and_back(PreviewRequest, request) == request
    assert there_and_back(Graph, graph) == graph


@pytest.mark.parametrize("dtype", ["u1", "<f4", ">i8", "?"])
@pytest.mark.parametrize("shape", [(), (0, 3), (4, 5, 3)])
def test_arrays(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for hint in (NDArray[Any], Aliased[np.uint8], Any):
        found = there_and_back(hint, array)
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
        found.flat[:1] = 1  # it is the receiver's own


@pytest.mark.parametrize(
    "sent", [("|O", (1,), b"12345678"), ("<f4", (2,), b"1234"), ("<f4", (-1,), b"")]
)
def test_arrays_that_are_none(sent: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="are no array"):
        codec_of(NDArray[Any]).decode(msgspec.msgpack.encode(sent))


def test_numbers_of_numpy_are_plain_ones() -> None:
    found = there_and_back(tuple[int, float, bool], (np.int64(3), np.float32(0.5), np.True_))
    assert found == (3, 0.5, True)
    assert [type(value) for value in found] == [int, float, bool]


@pytest.mark.parametrize("hint", [Sample, list[Sample], Any])
def test_names_of_files_that_are_not_utf8(hint: Any) -> None:
    sample = Sample("a/\udcff.jpg", "it is \udcfe")
    value = {Sample: sample, Any: sample.file}.get(hint, [sample, Sample("good.jpg")])
    assert there_and_back(hint, value) == value


def test_a_protocol_stands_for_the_classes_that_are_registered() -> None:
    square = Square(2.0, {"at": (1, 2)})
    assert there_and_back(Shape, square) == square
    assert there_and_back(tuple[Shape, int], (square, 3)) == (square, 3)
    with pytest.raises(EngineError, match=r"Circle cannot be run .* @sendable"):
        codec_of(Shape).encode(Circle(1.0))


@pytest.mark.parametrize(
    ("hint", "data"),
    [
        (int, b"\xa1x"),
        (Measured, msgspec.msgpack.encode({"name": 3})),
        (Mapping[str, Value], msgspec.msgpack.encode({"a": [{}]})),
        (Any, b"\xc1"),
        (Any, msgspec.msgpack.encode(msgspec.msgpack.Ext(99, b""))),
        (Graph, msgspec.msgpack.encode([1])),
    ],
)
def test_bytes_that_hold_no_value(hint: Any, data: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, ValueError)):
        codec_of(hint).decode(data)


def job(_: object, graph: Graph, names: Sequence[str], count: int = 3) -> NoReturn:
    raise AssertionError


def test_a_tasks_codecs() -> None:
    graph = Graph("a")
    for arguments in [(graph,), (graph, ["x"]), (graph, ["x"], 4)]:
        codec = arguments_codec(job, len(arguments))
        found = codec.decode(codec.encode(arguments))
        assert found[0] == graph
        assert len(found) == len(arguments)
    with pytest.raises(TypeError, match="takes 3 arguments, not 4"):
        arguments_codec(job, 4)
    assert result_codec(job).decode(result_codec(job).encode(None)) is None


def test_the_name_of_a_type_is_the_type() -> None:
    assert there_and_back(Rows, [(1, "a")]) == [(1, "a")]
