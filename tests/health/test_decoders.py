"""The decoder that a GPU uses for each image, against nvImageCodec on a machine with a GPU."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from workbench.cli import main
from workbench.engine.file_checks.decoder_rules import Decoder, decoder_of
from workbench.errors import DataError
from workbench.health.decoders import DecoderCoverage, DecoderUse, measured
from workbench.sources import list_samples, open_dataset
from workbench.sources.jpeg_frame import read_jpeg_frame

random = np.random.default_rng(3)
PHOTO = Image.fromarray(random.integers(0, 256, (12, 16, 3), np.uint8)).resize((320, 240))


def stored(format: str = "JPEG", mode: str = "RGB", **options: Any) -> bytes:
    file = io.BytesIO()
    PHOTO.convert(mode).save(file, format, **options)
    return file.getvalue()


def sampled(*factors: int) -> bytes:
    """A JPEG with these sampling factors of luma, encoded by OpenCV."""
    import cv2

    number = int("0x" + "".join(f"{factor}" for factor in factors) + "1111", 16)
    flags = [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, number]
    done, data = cv2.imencode(".jpg", np.asarray(PHOTO), flags)
    assert done
    return data.tobytes()


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return stored(exif=exif)


def large() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (17_000, 40), (90, 60, 30)).save(file, "JPEG")
    return file.getvalue()


FILES: Mapping[str, tuple[Callable[[], bytes], Decoder]] = {
    "444.jpg": (lambda: stored(subsampling=0), "JPEG engines"),
    "422.jpg": (lambda: stored(subsampling=1), "JPEG engines"),
    "420.jpg": (lambda: stored(subsampling=2), "JPEG engines"),
    "440.jpg": (lambda: sampled(1, 2), "JPEG engines"),
    "grey.jpg": (lambda: stored(mode="L"), "JPEG engines"),
    "optimized.jpg": (lambda: stored(optimize=True), "JPEG engines"),
    "turned.jpg": (turned, "JPEG engines"),
    "rgb.jpg": (lambda: stored(keep_rgb=True, subsampling=0), "JPEG engines"),
    "411.jpg": (lambda: sampled(4, 1), "CUDA"),
    "progressive.jpg": (lambda: stored(progressive=True), "CUDA"),
    "large.jpg": (large, "CUDA"),
    "cmyk.jpg": (lambda: stored(mode="CMYK"), "CUDA"),
    "jpeg2000.jp2": (lambda: stored("JPEG2000"), "CUDA"),
    "tiff.tif": (lambda: stored("TIFF"), "CUDA"),
    "lzw.tif": (lambda: stored("TIFF", compression="tiff_lzw"), "CUDA"),
    "cmyk.tif": (lambda: stored("TIFF", mode="CMYK"), "CPU"),
    "png.png": (lambda: stored("PNG"), "CPU"),
    "webp.webp": (lambda: stored("WEBP"), "CPU"),
    "bmp.bmp": (lambda: stored("BMP"), "CPU"),
    "pnm.ppm": (lambda: stored("PPM"), "CPU"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty kinds of files."""
    place = tmp_path_factory.mktemp("kinds")
    for name, (make, _) in FILES.items():
        (place / name).write_bytes(make())
    return place


def decoders(folder: Path) -> dict[str, Decoder]:
    found = wb.decoder_coverage(folder)
    return {name: use.decoder for use in found.uses for name in use.names}


def test_each_kind_of_file_has_its_decoder(folder: Path) -> None:
    assert decoders(folder) == {name: decoder for name, (_, decoder) in FILES.items()}


@pytest.mark.gpu
def test_nvimagecodec_uses_this_decoder(folder: Path) -> None:
    from nvidia import nvimgcodec

    kinds = {
        "JPEG engines": [nvimgcodec.BackendKind.HW_GPU_ONLY],
        "CUDA": [nvimgcodec.BackendKind.GPU_ONLY, nvimgcodec.BackendKind.HYBRID_CPU_GPU],
        "CPU": [nvimgcodec.BackendKind.CPU_ONLY],
    }
    backends = {
        name: nvimgcodec.Decoder(0, backends=[nvimgcodec.Backend(kind) for kind in each])
        for name, each in kinds.items()
    }
    found = {}
    for path in sorted(folder.iterdir()):
        able = [n for n, each in backends.items() if each.decode(path.read_bytes()) is not None]
        found[path.name] = able[0] if able else "none"
    print(found)
    assert found == decoders(folder)


@pytest.mark.gpu
def test_times_are_measured_on_a_gpu(folder: Path) -> None:
    found = wb.decoder_coverage(folder)
    print(found)
    assert found.gpu
    assert all(each.milliseconds for each in found.uses)
    assert all(each.reencoded for each in found.uses if each.decoder != "JPEG engines")


def test_the_command_prints_the_reasons_and_writes_the_other_images(
    folder: Path, tmp_path: Path
) -> None:
    runner = CliRunner()
    others = tmp_path / "others.txt"
    done = runner.invoke(main, ["check", str(folder), "--decoders", "--bad", str(others)])
    assert done.exit_code == 0, done.output
    assert "progressive JPEG, 4:2:0 (progressive)" in done.output
    assert "JPEG, 4:1:1 (chroma subsampling 4:1:1)" in done.output
    assert "The JPEG engines decode 8 of 20 images." in done.output
    names = {name for name, (_, decoder) in FILES.items() if decoder != "JPEG engines"}
    assert set(others.read_text().split()) == names
    done = runner.invoke(main, ["check", str(folder), "--decoders", "--json"])
    assert sum(len(each["names"]) for each in json.loads(done.output)["uses"]) == len(FILES)
    done = runner.invoke(main, ["check", str(folder), "--decoders", "--full"])
    assert "--decoders cannot be combined with" in done.output


def test_damaged_files_are_unknown_and_other_data_refused(tmp_path: Path, shapes: Path) -> None:
    for data in (
        b"\xff\xd8",
        b"\xff\xd8\xff\xc0\x00\x04\x08\x00",
        b"\xff\xd8\xff\xff",
        stored()[:60],
    ):
        assert decoder_of(io.BytesIO(data))[0] == "unknown"
    assert decoder_of(io.BytesIO(b"text"))[:2] == ("unknown", "not an image")
    assert decoder_of(io.BytesIO(stored("GIF")))[0] == "unknown"
    assert "BitsPerSample" in decoder_of(io.BytesIO(stored("TIFF", mode="1")))[2]
    with pytest.raises(DataError, match="is not decoded by"):
        wb.decoder_coverage(shapes / "numpy")
    with pytest.raises(DataError):
        wb.decoder_coverage(tmp_path / "missing")


def test_a_scan_of_one_component_is_found() -> None:
    data = stored(subsampling=0)
    at = data.index(b"\xff\xda")
    frame = read_jpeg_frame(io.BytesIO(data[: at + 4] + b"\x01" + data[at + 5 :]))
    assert frame is not None
    assert (frame.in_one_scan, frame.sampling, frame.width) == (False, "4:4:4", 320)


def test_why_a_time_was_not_measured_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("no image")
    (sample,) = list_samples(open_dataset(tmp_path))
    use = DecoderUse("CUDA", "CMYK JPEG", "four components", (sample.name,))
    with wb.Engine() as engine:
        found = measured(engine, use, [sample])
    assert found.milliseconds is None
    assert found.failure
    assert f"not measured: {found.failure}" in str(DecoderCoverage(str(tmp_path), (found,)))
