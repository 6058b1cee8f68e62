"""Messages between the worker and its caller: frames, values, errors, registered calls."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
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

from tests.engine import tasks
from workbench import errors
from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedOp,
    TracedPipeline,
)
from workbench.engine.protocol.channel import VERSION, Channel, ChannelError, VersionError
from workbench.engine.protocol.codec import arguments_codec, codec_of, result_codec
from workbench.engine.protocol.messages import (
    Call,
    FromWorker,
    Interrupt,
    ProgressReport,
    Ready,
    Result,
    ToWorker,
    decode_error,
    encode_error,
)
from workbench.engine.protocol.registry import (
    find_registered,
    known_packages,
    name_of,
    register_packages,
    sendable,
    task,
)
from workbench.engine.reading.undecodable_samples import Sample
from workbench.errors import (
    CancelledError,
    EngineError,
    GraphFaultsError,
    PipelineError,
    WorkbenchError,
    WorkerCrashedError,
    WorkerTimeoutError,
)
from workbench.graph import Graph, Port, load_recipes
from workbench.graph.model.faults import Fault
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
    with pytest.raises(ValueError, match="are not an array"):
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
    graph = Graph(name="a")
    for arguments in [(graph,), (graph, ["x"]), (graph, ["x"], 4)]:
        codec = arguments_codec(job, len(arguments))
        found = codec.decode(codec.encode(arguments))
        assert found[0] == graph
        assert len(found) == len(arguments)
    with pytest.raises(TypeError, match="has 3 arguments, but 4 were passed"):
        arguments_codec(job, 4)
    assert result_codec(job).decode(result_codec(job).encode(None)) is None


def test_the_name_of_a_type_is_the_type() -> None:
    assert there_and_back(Rows, [(1, "a")]) == [(1, "a")]


# Frames over a socket: whole ones, parts of them, and what is none.

Ends = tuple[Channel, Channel]


@pytest.fixture
def ends() -> Iterator[Ends]:
    """The engine's end and the worker's."""
    ours, theirs = socket.socketpair()
    made = Channel(ours, FromWorker), Channel(theirs, ToWorker)
    yield made
    for channel in made:
        channel.close()


def test_messages_arrive_in_order_with_their_payloads(ends: Ends) -> None:
    engine, worker = ends
    engine.send(Call(1, "a:b", 2), b"arguments")
    engine.send(Interrupt(1))
    received = [worker.receive(), worker.receive()]
    assert [(message, bytes(payload)) for message, payload in filter(None, received)] == [
        (Call(1, "a:b", 2), b"arguments"),
        (Interrupt(1), b""),
    ]
    assert worker.receive(0) is None


@pytest.mark.parametrize("size", [0, 1, 2**14, 2**14 + 1, 5_000_000])
def test_payloads_of_any_size(size: int, ends: Ends) -> None:
    engine, worker = ends
    payload = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    thread = threading.Thread(target=lambda: worker.send(Result(7), payload))
    thread.start()
    received = engine.receive(30)
    thread.join()
    assert received == (Result(7), payload)


def test_a_message_that_comes_in_parts(ends: Ends) -> None:
    engine, worker = ends
    text = msgspec.msgpack.encode(ProgressReport(3, 0.5))
    data = struct.pack("!3sBIQ", b"DWB", VERSION, len(text), 4) + text + b"load"
    for part in data[:-1]:
        worker._socket.sendall(bytes([part]))
        assert engine.receive(0) is None
    worker._socket.sendall(data[-1:])
    assert engine.receive(30) == (ProgressReport(3, 0.5), b"load")


def test_messages_of_several_threads_do_not_mix(ends: Ends) -> None:
    engine, worker = ends
    payloads = {number: bytes([number]) * 100_000 for number in range(8)}
    threads = [
        threading.Thread(target=worker.send, args=(Result(number), payload))
        for number, payload in payloads.items()
    ]
    for thread in threads:
        thread.start()
    received = [engine.receive(30) for _ in threads]
    assert {m.number: bytes(p) for m, p in filter(None, received)} == payloads


@pytest.mark.parametrize(
    "data",
    [
        b"h",
        b"hello, this is longer than a header",
        struct.pack("!3sBIQ", b"DWB", VERSION, 10, 2**60),
        struct.pack("!3sBIQ", b"DWB", VERSION, 5, 0) + b"hello",
        struct.pack("!3sBIQ", b"DWB", VERSION, 3, 0) + msgspec.msgpack.encode([1, 2])[:3],
    ],
)
def test_what_is_no_message(data: bytes, ends: Ends) -> None:
    engine, worker = ends
    worker._socket.sendall(data)
    with pytest.raises(ChannelError):
        engine.receive(30)


def test_a_message_for_the_other_side_is_none(ends: Ends) -> None:
    engine, worker = ends
    worker.send(Interrupt(1))
    with pytest.raises(ChannelError, match="interrupt"):
        engine.receive(30)


def test_another_version_names_both(ends: Ends) -> None:
    engine, worker = ends
    worker._socket.sendall(struct.pack("!3sB", b"DWB", VERSION + 1))
    with pytest.raises(VersionError, match=rf"version {VERSION + 1} .* version {VERSION}\. Inst"):
        engine.receive(30)


@pytest.mark.parametrize("part", [b"", b"DW", b"DWB\x02\0\0\0"])
def test_the_end_of_the_other_side(part: bytes, ends: Ends) -> None:
    engine, worker = ends
    worker._socket.sendall(part)
    worker.close()
    with pytest.raises(EOFError):
        engine.receive(30)
    with pytest.raises(OSError, match="Broken pipe"):
        engine.send(Ready())


# Errors travel with all that they say.

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, WorkbenchError)
]
FAULTS = [
    Fault("rotate", "angle", "is 'x'", "Use a number.", "value", "x"),
    Fault("", "", "no reader", ""),
]


def decoded_error(error: WorkbenchError) -> WorkbenchError:
    name, data = encode_error(error)
    return decode_error(name, memoryview(data))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error(kind: type[WorkbenchError]) -> None:
    error = GraphFaultsError(FAULTS) if kind is GraphFaultsError else kind("what, \udcff and why")
    found = decoded_error(error)
    assert type(found) is kind
    assert str(found) == str(error)
    assert vars(found) == vars(error)


@pytest.mark.parametrize(
    "error",
    [
        PipelineError("no", "rotate"),
        WorkerTimeoutError("late", ["a", "b"]),
        WorkerCrashedError("ended", ("a",), killed=True),
        GraphFaultsError(FAULTS),
    ],
)
def test_what_an_error_knows(error: WorkbenchError) -> None:
    found = decoded_error(error)
    assert vars(found) == vars(error)
    assert str(found) == str(error)


def test_faults_keep_what_their_remedies_need() -> None:
    found = decoded_error(GraphFaultsError(FAULTS))
    assert isinstance(found, GraphFaultsError)
    assert [(f.code, f.about) for f in found.faults] == [("value", "x"), ("", "")]


def test_an_error_of_another_module_comes_as_its_base() -> None:
    class NoCounterpartError(EngineError):
        pass

    found = decoded_error(NoCounterpartError("other work"))
    assert type(found) is EngineError
    assert str(found) == "other work"


@pytest.mark.parametrize("name", ["SystemExit", "Sequence", "annotations", "", "__name__"])
def test_other_names_make_nothing(name: str) -> None:
    _, data = encode_error(CancelledError("x"))
    with pytest.raises(ValueError, match="is not an error of the workbench"):
        decode_error(name, memoryview(data))


# Only what is registered is found, and only modules of known packages are imported for it.


def helper() -> None:
    """Not a task."""


def test_a_task_is_found_by_its_name() -> None:
    assert name_of(tasks.echo) == "tests.engine.tasks:echo"
    assert find_registered("tests.engine.tasks:echo") is tasks.echo
    render = find_registered("workbench.preview.requests.render:render")
    assert render.__module__ == "workbench.preview.requests.render"
    assert {"workbench", "tests"} <= known_packages()


@pytest.mark.parametrize(
    "name",
    [
        f"{__name__}:helper",
        "os:system",
        "workbench.cli:main",
        "workbench.errors:WorkbenchError",
        "workbench.no_such_module:task",
        "subprocess",
        "",
        ":",
        "workbench:..cli",
    ],
)
def test_nothing_else_is(name: str) -> None:
    with pytest.raises(EngineError, match="cannot be run in the worker"):
        find_registered(name)


def test_no_module_is_imported_because_a_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from workbench.engine.protocol.registry import task\n@task\ndef run(worker): ...\n"
    (tmp_path / "stranger.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("workbench.engine.protocol.registry._known", {"workbench"})
    with pytest.raises(EngineError, match="not registered"):
        find_registered("stranger:run")
    assert "stranger" not in sys.modules
    register_packages(["stranger"])
    assert find_registered("stranger:run") is sys.modules.pop("stranger").run


def test_a_task_stays_the_function_that_it_is() -> None:
    def local() -> None: ...

    assert task(local) is local
