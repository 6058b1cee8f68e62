"""A picture that carries its graph: there and back, and what is no such picture."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.helpers import HOSTILE
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import GraphFaultsError, GraphFormatError, SaveError
from workbench.graph import Graph, Node, dump_graph, load_graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest
from workbench.preview.requests.share import (
    KEY,
    LONGEST,
    WIDTH,
    compose_sheet,
    read_picture,
    read_shared,
    share_sheet,
    write_shared,
)

TEXT = dump_graph(load_recipe("simclr"))
SMALL = Image.new("RGB", (8, 8), "white")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def itxt(key: str, packed: bytes) -> bytes:
    return chunk(b"iTXt", key.encode() + b"\0\x01\0\0\0" + packed)


def png(*chunks: bytes) -> bytes:
    return SIGNATURE + chunk(b"IHDR", HEADER) + b"".join(chunks) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "name", one_in(4, ["rotate-jitter", "simclr", "medical-gray", "test-time-views"], first=1)
)
def test_a_sheet_shows_the_batch_and_carries_the_graph(
    name: str, engine: Engine, photos: Path
) -> None:
    graph = load_recipe(name)
    data = share_sheet(engine, PreviewRequest(graph, str(photos)), dump_graph(graph))
    assert load_graph(read_shared(data)) == graph
    with Image.open(io.BytesIO(data)) as sheet:
        assert sheet.format == "PNG"
        assert sheet.width == WIDTH
        assert 300 < sheet.height < 1500
        pixels = np.asarray(sheet.convert("RGB"))
    assert pixels[40:60, 20:300].min() < 100, "no title"
    assert pixels[150:].std() > 40, "no pictures"
    assert len(data) < 4_000_000


def test_the_part_before_the_pixels_is_enough() -> None:
    data = write_shared(SMALL, TEXT)
    head = data[: data.index(b"IDAT") + 4]
    assert read_shared(head) == TEXT


@pytest.mark.parametrize("text", [*HOSTILE, "x" * 10_000, "\U0001f98a" * 3000])
def test_hostile_names_travel_and_are_drawn(text: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        text = text.encode("utf-8", "replace").decode()  # no graph has half characters: io.py
    graph = Graph(text, text, (Node("n", "op", {"value": text}),))
    data = write_shared(compose_sheet(text, text), dump_graph(graph))
    assert load_graph(read_shared(data)) == graph


def test_a_graph_that_cannot_run_is_not_drawn_as_if(engine: Engine, photos: Path) -> None:
    graph = set_arg(load_recipe("rotate-jitter"), load_catalog(), "rotate", "fill_value", "blue")
    with pytest.raises(GraphFaultsError, match="blue"):
        share_sheet(engine, PreviewRequest(graph, str(photos)), dump_graph(graph))


def test_a_graph_too_long_for_a_picture_is_refused() -> None:
    write_shared(SMALL, "x" * LONGEST)
    with pytest.raises(SaveError, match="Save the graph as a file"):
        write_shared(SMALL, "x" * (LONGEST + 1))


def saved(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a readable PNG"),
        (b"{}", "not a readable PNG"),
        (SIGNATURE, "not a readable PNG"),
        (saved(SMALL, "JPEG"), "not a readable PNG"),
        (saved(SMALL, "PNG"), "contains no graph"),
        (png(itxt("Comment", zlib.compress(b"{}"))), "contains no graph"),
        (png(itxt(KEY, b"not packed")), "not a readable PNG|contains no graph"),
        (png(itxt(KEY, zlib.compress(b"x" * 50_000_000))), "not a readable PNG"),
        (SIGNATURE + b"\xff\xff\xff\xffIHDR", "not a readable PNG"),
        (write_shared(SMALL, TEXT)[:60], "not a readable PNG|contains no graph"),
    ],
)
def test_what_carries_no_graph_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(GraphFormatError, match=words):
        read_shared(data)


@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    whole = bytearray(write_shared(SMALL, TEXT))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    try:
        text = read_shared(cut)
    except GraphFormatError:
        return
    assert isinstance(text, str)


def test_a_file_is_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "shared.png"
    path.write_bytes(write_shared(SMALL, TEXT))
    assert read_picture(path) == load_recipe("simclr")
    path.write_bytes(saved(SMALL, "PNG"))
    with pytest.raises(GraphFormatError, match=r"shared\.png: This picture contains no graph"):
        read_picture(path)
    with pytest.raises(GraphFormatError, match=r"gone\.png cannot be read"):
        read_picture(tmp_path / "gone.png")
    path.write_bytes(write_shared(SMALL, '{"format": "dali-workbench-graph", "version": 7}'))
    with pytest.raises(GraphFormatError, match="newer workbench"):
        read_picture(path)
