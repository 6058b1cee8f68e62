"""Colours of video that DALI does not convert are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import same, script_batches
from tests.sources.test_video import GOLDEN, a_graph
from workbench.engine import Engine
from workbench.engine.file_checks.file_check import check_header
from workbench.graph.model import Port
from workbench.health import check_folder
from workbench.preview import preview_batch
from workbench.preview.request import PreviewRequest
from workbench.sources import (
    Dataset,
    list_samples,
    open_dataset,
)
from workbench.sources.kinds import video


def _with_vp9_matrix(number: int) -> bytes:
    """The clip of VP9 whose first frame names another colour matrix."""
    content = bytearray((GOLDEN / "vp9.webm").read_bytes())
    at = content.find(b"\x49\x83\x42") + 3
    content[at] = content[at] & 0b11111 | number << 5
    return bytes(content)


def test_colours_that_dali_does_not_convert_are_named_by_check_and_preview(
    tmp_path: Path, engine: Engine
) -> None:
    matrices = {"bt601": 1, "bt709": 2, "bt2020": 5, "smpte170": 3, "unknown": 0}
    for name, number in matrices.items():
        (tmp_path / f"{name}.webm").write_bytes(_with_vp9_matrix(number))
    found = check_folder(str(tmp_path), full=False)
    reasons = {
        file.file: file.reason for file in found.files if file.findings[0].kind != "duplicate"
    }
    assert {name: reason.split(",")[0] for name, reason in reasons.items()} == {
        "bt709.webm": "BT.709",
        "bt2020.webm": "BT.2020",
    }
    assert not found.of_level("bad", "damaged")
    graph = replace(a_graph(shuffled=False), outputs={"frames": Port("reader", "frames")})
    shown = preview_batch(engine, PreviewRequest(graph, str(tmp_path)))
    assert "BT.2020, which DALI decodes as BT.601:" in shown.note
    assert "(2 videos)" in shown.note
    alone = preview_batch(engine, PreviewRequest(graph, str(tmp_path / "bt601.webm")))
    assert "BT." not in alone.note
    ((one,), (other,)) = (
        script_batches(graph, tmp_path / f"{name}.webm", 1, tmp_path)[0]
        for name in ("bt601", "bt709")
    )
    assert same(one, other), "DALI ignores the matrix"


@pytest.mark.parametrize(
    ("codec", "matrix", "full", "words"),
    [
        (b"V_VP9", 1, 1, "BT.709"),
        (b"V_VP8", 9, 1, "BT.2020"),
        (b"V_VP8", 5, 1, ""),
        (b"V_VP8", 6, 2, "of full range"),
        (b"V_VP9", 6, 2, ""),
    ],
)
def test_matroska_names_matrix_and_range(
    codec: bytes, matrix: int, full: int, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "clip.webm"
    colour = b"\x55\xb1\x81%c\x55\xb9\x81%c" % (matrix, full)
    path.write_bytes(b"\x1aE\xdf\xa3\x80\x86\x85%b\xe0\x55\xb0\x88%b\0" % (codec, colour))
    (sample,) = list_samples(open_dataset(path))
    found = [(f.kind, f.reason) for f in check_header(sample).findings]
    assert len(found) == bool(words)
    assert all(kind == "other colours" and why.startswith(words) for kind, why in found)


def _remark(dataset: Dataset, device: str) -> str:
    return video.Video().decoding_remark(dataset, device)


def _atom(name: bytes, content: bytes) -> bytes:
    return (8 + len(content)).to_bytes(4, "big") + name + content


def _mp4(codec: bytes, colour: bytes) -> bytes:
    """The boxes of an MP4 that describe its video track, followed by a sound track."""
    entry = _atom(codec, bytes(78) + colour)
    tracks = b"".join(
        _atom(
            b"trak",
            _atom(kind, bytes(8)) + _atom(b"stsd", bytes(4) + b"\0\0\0\1" + entries),
        )
        for kind, entries in ((b"vmhd", entry), (b"smhd", _atom(b"mp4a", COLR_BT2020)))
    )
    return _atom(b"ftyp", b"isom" + bytes(4)) + _atom(b"mdat", bytes(20)) + _atom(b"moov", tracks)


COLR_BT2020 = _atom(b"colr", b"nclx\0\x09\0\x10\0\x09\0")


@pytest.mark.parametrize(
    ("codec", "colour", "words"),
    [
        (b"avc1", _atom(b"colr", b"nclx\0\x01\0\x01\0\x01\0"), "BT.709, which DALI"),
        (b"hvc1", COLR_BT2020, "BT.2020, which DALI"),
        (b"avc1", _atom(b"colr", b"nclc\0\x06\0\x06\0\x06"), ""),
        (b"vp09", _atom(b"vpcC", b"\1\0\0\0\0\x1f\x82\x01\x01\x01\0\0"), "BT.709"),
        (b"avc1", _atom(b"colr", b"prof" + bytes(20)), ""),
        (b"avc1", b"", ""),
    ],
)
def test_mp4_names_its_matrix(
    codec: bytes, colour: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "has_gpu", lambda: True)  # DALI decodes these on a GPU alone
    path = tmp_path / "clip.mp4"
    path.write_bytes(_mp4(codec, colour))
    dataset = open_dataset(path)
    (sample,) = list_samples(dataset)
    found = [f.reason for f in check_header(sample).findings]
    assert len(found) == bool(words)
    assert all(why.startswith(words) for why in found)
    assert bool(_remark(dataset, "mixed")) == bool(words)


def test_full_range_is_a_matter_of_the_cpu(tmp_path: Path) -> None:
    path = tmp_path / "clip.webm"
    colour = b"\x55\xb1\x81\x06\x55\xb9\x81\x02"
    path.write_bytes(b"\x1aE\xdf\xa3\x80\x86\x85V_VP8\xe0\x55\xb0\x88%b\0" % colour)
    dataset = open_dataset(path)
    assert "limited range on the CPU" in _remark(dataset, "cpu")
    assert _remark(dataset, "mixed") == ""
