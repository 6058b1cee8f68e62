"""Colours of video that DALI does not convert are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import same, script_batches
from tests.sources.test_video import GOLDEN, a_graph
from workbench.engine import Engine
from workbench.engine.file_check import check_header
from workbench.graph.model import Port
from workbench.health import check_folder
from workbench.preview import preview_batch
from workbench.preview.request import PreviewRequest
from workbench.sources import list_samples, open_dataset


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
    assert "BT.2020, which DALI decodes as BT.601 on the CPU" in shown.note
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
