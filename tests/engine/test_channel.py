"""Frames over a socket: whole ones, parts of them, and what is none."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import msgspec
import pytest

from workbench.engine.protocol.channel import VERSION, Channel, ChannelError, VersionError
from workbench.engine.protocol.messages import (
    Call,
    FromWorker,
    Interrupt,
    ProgressReport,
    Ready,
    Result,
    ToWorker,
)

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
