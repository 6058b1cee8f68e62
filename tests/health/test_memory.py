"""Memory of a pipeline, predicted from headers and shapes."""

import os
import re
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

import workbench as wb
from benchmarks.memory_record import RUN_ON_GPU, run
from workbench.catalog import load_catalog
from workbench.errors import ArgumentError, DataError
from workbench.graph.edits.edit import set_setting
from workbench.graph.resolved import resolve
from workbench.health import memory as module
from workbench.health.memory import RETURN_FREED, MemoryEstimate, estimate_memory
from workbench.health.memory_model import ImageSize
from workbench.sources import open_dataset

RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from pipe import build_pipeline

pipe = build_pipeline(sys.argv[2])
pipe.build()
for _ in range(8):
    batch = pipe.run()
(line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(int(line.split()[1]) * 1024)
"""


def estimate(graph: wb.Graph, folder: Path, **settings: int) -> MemoryEstimate:
    return estimate_memory(
        resolve(set_setting(graph, **settings), load_catalog()), open_dataset(folder)
    )


def make_photos(folder: Path, sizes: list[tuple[int, int]]) -> Path:
    folder.mkdir()
    for number, size in enumerate(sizes):
        Image.new("RGB", size, (90, 120, 60)).save(folder / f"{number}.jpg")
    return folder


def png_chunk(kind: bytes, content: bytes) -> bytes:
    crc = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc)


def png_header(width: int, height: int) -> bytes:
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + png_chunk(b"IDAT", b"x")


def test_each_node_has_its_bytes_and_large_images_make_the_worst_batch(tmp_path: Path) -> None:
    folder = make_photos(tmp_path / "photos", [(80, 60)] * 20 + [(800, 600)])
    graph = wb.load_recipe("imagenet-eval")
    found = estimate(graph, folder, batch_size=4)
    rows = {row.node: row for row in found.nodes}
    assert rows["decode"].typical == (20 * 80 * 60 + 800 * 600) * 3 * 4 // 21
    assert rows["decode"].worst == 800 * 600 * 3 + 3 * 80 * 60 * 3
    assert rows["resize"].worst == 4 * 342 * 256 * 3
    assert found.largest[0] == ("20.jpg", 800, 600)
    assert found.typical["cpu"] is not None
    assert found.worst["cpu"] is not None
    assert found.typical["cpu"] < found.worst["cpu"]
    mixed = estimate(set_setting(graph, device="mixed"), folder)
    assert {row.side for row in mixed.nodes} == {"cpu", "gpu"}
    assert mixed.worst["gpu"]


def test_what_the_headers_do_not_tell_is_unknown(tmp_path: Path) -> None:
    folder = make_photos(tmp_path / "photos", [(80, 60)])
    graph = wb.read(folder).decode().resize(resize_shorter=wb.random.uniform(range=(20, 40)))
    found = estimate(graph, folder)
    assert len(found.unknown) == 1
    assert found.worst["cpu"] is found.typical["cpu"] is None
    assert "coarsened" not in estimate(wb.load_recipe("ct-slice"), folder).unknown
    assert estimate(wb.load_recipe("ct-slice"), folder).unknown
    (folder / "0.jpg").write_bytes(b"x")
    with pytest.raises(DataError, match="none of its files has an image header"):
        estimate(graph, folder)


def test_an_image_beyond_the_limit_of_pillow_is_the_largest(tmp_path: Path) -> None:
    folder = make_photos(tmp_path / "photos", [(80, 60)])
    (folder / "giant.png").write_bytes(png_header(20_000, 15_000))
    (folder / "bad.jpg").write_bytes(b"x")
    found = estimate(wb.load_recipe("imagenet-train"), folder)
    assert found.largest[0] == ("giant.png", 20_000, 15_000)
    assert found.without_header == 1
    plain = estimate(wb.load_recipe("rotate-jitter"), folder)
    split = found.copies[1] - plain.copies[1]
    assert round(split / 2**20) == 927, "random crops can need its size once more"


@pytest.mark.parametrize(
    ("kind", "side", "copies"),
    [("JPEG", 13_377, 1), ("JPEG", 13_378, 2), ("PNG", 100, 2), ("TIFF", 20_000, 1)],
)
def test_opencv_decodes_with_a_second_copy(kind: str, side: int, copies: int) -> None:
    assert ImageSize(side * side, "a", side, side, 1, kind).copies == copies


def test_the_copies_of_the_decoder_are_listed(tmp_path: Path) -> None:
    folder = make_photos(tmp_path / "photos", [(80, 60)] * 3)
    graph = set_setting(wb.load_recipe("imagenet-train"), batch_size=4, num_threads=1)
    jpeg = estimate(graph, folder)
    (folder / "giant.png").write_bytes(png_header(4000, 3000))
    found = estimate(graph, folder)
    assert ("copies of the decoder", "", "cpu") in [row[:3] for row in found.table()]
    assert jpeg.copies[1] == 80 * 60 * 3
    assert found.copies[1] == 2 * 4000 * 3000 * 3
    cropped = wb.read(folder).decoders.image_random_crop().resize(size=(8, 8))
    assert estimate(cropped, folder, num_threads=1).copies[1] == 3.5 * 4000 * 3000 * 3


def test_remedies_have_the_peaks_of_the_changed_graph(tmp_path: Path) -> None:
    folder = make_photos(tmp_path / "photos", [(80, 60)] * 20 + [(4000, 3000)])
    graph = set_setting(wb.load_recipe("imagenet-train"), batch_size=16)
    found = wb.memory(graph, folder)
    remedies = {each.change: each.worst["cpu"] for each in found.remedies}
    assert (
        remedies["resize 20.jpg to 80 x 60"]
        == estimate(graph, make_photos(tmp_path / "small", [(80, 60)] * 21)).worst["cpu"]
    )
    assert "resize 20.jpg to 80 x 60" in found._repr_html_()
    assert len(found.to_frame()) == len(found.nodes)
    mixed = wb.memory(set_setting(graph, device="mixed"), folder)
    hints = "preallocate_width_hint=4000, preallocate_height_hint=3000"
    assert any(hints in each.change for each in mixed.remedies)
    halved = wb.memory(set_setting(graph, batch_size=400), folder).remedies[0]
    assert halved.change == "batch_size=200"
    assert halved.worst == estimate(graph, folder, batch_size=200).worst


def test_a_batch_larger_than_the_memory_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "giant.png").write_bytes(png_header(60_000, 60_000))
    graph = set_setting(wb.load_recipe("imagenet-train"), batch_size=4096)
    found = wb.memory(graph, folder)
    assert re.match(r"The worst batch can need \d{5}\.\d GiB, but", found.shortage)
    assert found.shortage.endswith(" Make the largest images smaller.")
    assert not found.fitting
    small = make_photos(tmp_path / "small", [(8, 6)])
    assert not wb.memory(graph, small).shortage
    at_most = 512 * 2**20
    monkeypatch.setattr(module, "usable_memory", lambda: at_most)
    found = wb.memory(graph, small)
    assert f"Use a batch size of {found.fitting} or less" in found.shortage
    fits, double = (
        wb.memory(set_setting(graph, batch_size=n), small)
        for n in (found.fitting, 2 * found.fitting)
    )
    assert not fits.shortage
    assert double.shortage
    assert found.remedies[0].change == f"batch_size={found.fitting}"


def test_a_remedy_names_images_and_only_those_that_cause_the_peak(tmp_path: Path) -> None:
    graph = set_setting(wb.load_recipe("imagenet-train"), batch_size=16)
    folder = make_photos(tmp_path / "photos", [(80, 60)] * 45 + [(2000, 1500)] * 5)
    changes = [each.change for each in wb.memory(graph, folder).remedies]
    assert "resize 49.jpg, 48.jpg, 47.jpg and 2 more to 80 x 60" in changes
    Image.new("RGB", (9000, 6000)).save(folder / "giant.jpg")
    changes = [each.change for each in wb.memory(graph, folder).remedies]
    assert any(change.startswith("resize giant.jpg to ") for change in changes)
    encoded = wb.memory(set_setting(wb.read(folder), batch_size=16), folder)
    assert not any("resize" in each.change for each in encoded.remedies)


def test_wrong_arguments_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="graph"):
        wb.memory("no-such", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"[^.]\.$"):
        wb.memory(wb.load_recipe("imagenet-train"), tmp_path)


def peak_of_process(place: Path, folder: Path, variables: Mapping[str, str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(place), str(folder)],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", ["imagenet-train", "rotate-jitter", "two-view"])
def test_a_process_needs_no_more(tmp_path: Path, recipe: str) -> None:
    folder = make_photos(tmp_path / "photos", [(1600, 1200)] * 15 + [(4000, 3000)])
    graph = set_setting(wb.load_recipe(recipe), batch_size=16, num_threads=2)
    wb.export(graph, data=folder).write(tmp_path / "pipe.py")
    found = estimate(graph, folder)
    predicted = found.worst["cpu"]
    assert predicted is not None
    returned = peak_of_process(tmp_path, folder, dict([RETURN_FREED.split("=")]))
    assert 1.0 <= predicted / returned <= 1.2
    assert peak_of_process(tmp_path, folder, {}) <= predicted + found.retained


@pytest.mark.gpu
@pytest.mark.parametrize("recipe", ["imagenet-train", "rotate-jitter", "two-view", "simclr"])
def test_the_buffers_of_a_gpu_need_no_more(tmp_path: Path, recipe: str) -> None:
    folder = make_photos(tmp_path / "photos", [(1600, 1200)] * 63 + [(4000, 3000)])
    graph = set_setting(wb.load_recipe(recipe), batch_size=64, device="mixed")
    wb.export(graph, data=folder).write(tmp_path / "pipe.py")
    used = run(RUN_ON_GPU, tmp_path, folder)
    predicted = estimate(graph, folder).worst["gpu"]
    assert predicted is not None
    print(f"{recipe}: {predicted / 2**20:.0f} MiB predicted, {used / 2**20:.0f} used")
    assert 1 <= predicted / used <= 1.35
