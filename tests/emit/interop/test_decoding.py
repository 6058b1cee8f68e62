"""Exports without DALI decode as DALI does, and their random values are independent."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from nvidia.dali import fn, pipeline_def, types
from PIL import Image

import workbench as wb
from tests.emit.target_graphs import WITHOUT_DALI
from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.emit.targets import export
from workbench.errors import GraphExportError

SIDE = 32
ROWS, COLUMNS = np.mgrid[0:SIDE, 0:SIDE]
GREY = (40 + COLUMNS * 4 + ROWS).astype(np.uint8)
COLOURS = np.stack([GREY, 255 - GREY, 40 + ROWS * 5], -1).astype(np.uint8)
DEEP = (COLUMNS * 2000 + ROWS * 31).astype(np.uint16)
ORIENTATIONS = range(1, 9)
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'


def saved(pixels: Any, form: str, mode: str = "", turned: int = 1, **options: Any) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = turned
    extra = {"exif": exif} if form in ("JPEG", "PNG", "TIFF") else {}
    image = Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.convert(mode or image.mode).save(buffer, form, **{**extra, **options})
    return buffer.getvalue()


def tiff(pixels: Any, turned: int = 1, **options: Any) -> bytes:
    buffer = io.BytesIO()
    tags = [(0x0112, "H", 1, turned, True)]
    tifffile.imwrite(buffer, pixels, extratags=tags, **options)
    return buffer.getvalue()


def deep_png(pixels: NDArray[np.uint16]) -> bytes:
    """A PNG of 16 bits and three channels, which Pillow does not write."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        ends = struct.pack(">I", len(content)), struct.pack(">I", zlib.crc32(kind + content))
        return ends[0] + kind + content + ends[1]

    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 16, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def modes() -> Iterator[tuple[str, bytes]]:
    alpha = np.dstack([COLOURS, ROWS.astype(np.uint8) * 7])
    for form in ("PNG", "TIFF", "JPEG", "BMP", "WEBP", "PPM"):
        lossless = {"lossless": True} if form == "WEBP" else {}
        for mode in ("1", "L", "RGB", "P", "CMYK", "YCbCr"):
            if (form, mode) in (("TIFF", "1"), ("BMP", "CMYK"), ("PPM", "P"), ("PNG", "CMYK")):
                continue  # DALI refuses it, or there is none
            if form in ("BMP", "PNG", "PPM") and mode in ("YCbCr", "CMYK"):
                continue
            if form == "JPEG" and mode == "P":
                continue
            yield f"{form} {mode}", saved(COLOURS, form, mode, **lossless)
        if form not in ("JPEG", "PPM"):
            yield f"{form} RGBA", saved(alpha, form, **lossless)
    yield "PNG LA", saved(alpha, "PNG", "LA")
    yield "palette with transparency", saved(COLOURS, "PNG", "P", transparency=3)
    for form in ("PNG", "TIFF", "PPM", "JPEG2000"):
        yield f"{form} 16 bits", saved(DEEP, form)
    yield "JPEG 2000", saved(COLOURS, "JPEG2000")
    wide = COLOURS.astype(np.uint16) * 257
    yield "PNG RGB 16 bits", deep_png(wide)
    yield "TIFF RGB 16 bits", tiff(wide, photometric="rgb")
    yield "TIFF float", tiff(np.float32(DEEP) / 50000 - 0.1, photometric="minisblack")
    yield "TIFF miniswhite", tiff(GREY, photometric="miniswhite")
    planes = np.moveaxis(COLOURS, -1, 0)
    yield "TIFF planar", tiff(planes, photometric="rgb", planarconfig="separate")
    yield "JPEG with XMP orientation", saved(COLOURS, "JPEG", xmp=XMP)
    profile = Image.new("RGB", (1, 1)).info.get("icc_profile", b"") or b"\0" * 128
    yield "PNG with a colour profile", saved(COLOURS, "PNG", icc_profile=profile)


def turned() -> Iterator[tuple[str, bytes]]:
    for number in ORIENTATIONS:
        for form, mode in (("JPEG", "RGB"), ("JPEG", "L"), ("JPEG", "CMYK"), ("PNG", "P")):
            yield f"{form} {mode} {number}", saved(COLOURS, form, mode, number)
        yield f"TIFF {number}", saved(COLOURS, "TIFF", "RGB", number)
        yield f"PNG 16 bits {number}", saved(DEEP, "PNG", "", number)
        yield f"TIFF 16 bits {number}", tiff(DEEP, number, photometric="minisblack")


@cache
def files() -> dict[str, bytes]:
    return {**dict(modes()), **dict(turned())}


def decode_with_dali(contents: list[bytes], **args: Any) -> list[NDArray[np.int64]]:
    def whole() -> Any:
        return fn.decoders.image(fn.external_source(name="encoded"), **args)

    pipe = pipeline_def(whole)(batch_size=len(contents), num_threads=1, device_id=None)
    pipe.build()
    pipe.feed_input("encoded", [np.frombuffer(each, np.uint8) for each in contents])
    (images,) = pipe.run()
    return [np.asarray(image).astype(int) for image in images]


@pytest.mark.parametrize("adjust_orientation", [True, False])
@pytest.mark.parametrize("grey", [False, True])
def test_every_mode_and_orientation_has_the_pixels_of_dali(
    grey: bool, adjust_orientation: bool
) -> None:
    named = {"output_type": types.GRAY if grey else types.RGB}
    theirs = decode_with_dali([*files().values()], adjust_orientation=adjust_orientation, **named)
    for (name, content), expected in zip(files().items(), theirs, strict=True):
        ours = np.asarray(decode_with_pillow(content, grey, adjust_orientation)).astype(int)
        assert ours.shape == expected.shape, name
        assert np.abs(ours - expected).max() <= 1 + grey, name


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (tiff(DEEP.astype(np.int16), photometric="minisblack"), "signed"),
        (tiff(GREY.astype(np.int8), photometric="minisblack"), "signed"),
        (tiff(DEEP.astype(np.uint32), photometric="minisblack"), "32-bit"),
        (
            tiff(
                np.moveaxis(COLOURS.astype(np.uint16), -1, 0),
                photometric="rgb",
                planarconfig="separate",
            ),
            "planar",
        ),
        (b"P5\n2 1\n1000\n\0\1\0\2", "1000"),
        (b"P6\n1 1\n100\n\1\2\3", "100"),
        (saved(COLOURS, "JPEG2000", "YCbCr"), "YCC"),
    ],
)
def test_what_pillow_decodes_otherwise_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_with_pillow(content)


@pytest.mark.parametrize("target", WITHOUT_DALI)
@pytest.mark.timeout(300)
def test_an_exported_data_set_decodes_as_dali_and_draws_apart(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "a"
    folder.mkdir(parents=True)
    endings = {"JPEG": "jpg", "PNG": "png", "TIFF": "tif"}
    chosen = [(n, c) for n, c in files().items() if n.split()[0] in endings and "2000" not in n]
    for number, (name, content) in enumerate(chosen):
        (folder / f"{number:03}.{endings[name.split()[0]]}").write_bytes(content)
    graph = wb.read(str(tmp_path / "data")).decode().resize(size=(SIDE, SIDE))
    views = {
        f"view_{number}": graph.flip(horizontal=wb.random.coin_flip(probability=0.5))
        .brightness(brightness=wb.random.uniform(range=(1.0, end)))
        .images
        for number, end in ((1, 1.001), (2, 1.002))
    }
    module = tmp_path / "exported.py"
    module.write_text(export(wb.outputs(**views, labels=graph.labels), target).main.text)
    command = [sys.executable, "-m", "tests.emit.interop.run_exported", target]
    out = tmp_path / "found.npz"
    done = subprocess.run(
        [*command, str(module), str(tmp_path / "data"), str(out)], capture_output=True, text=True
    )
    if "missing" in done.stdout:
        pytest.skip(f"{target} is not executed: {done.stdout}")
    assert done.returncode == 0, done.stderr[-2000:]
    found = np.load(out)
    theirs = decode_with_dali([content for _, content in chosen])
    for (name, _), ours, expected in zip(chosen, found["photos"], theirs, strict=True):
        either = [np.abs(ours.astype(int) - each).max() for each in (expected, expected[:, ::-1])]
        assert min(either) <= 2, name
    mirrored = {name: found[name] for name in found.files if name != "photos"}
    for workers in (0, 2):
        first, again = (mirrored[f"rank_0_workers_{workers}_run_{run}"] for run in (0, 1))
        other = mirrored[f"rank_1_workers_{workers}_run_0"]
        assert np.array_equal(first, again)
        for one, two in (
            (first[:, 0], first[:, 1]),  # the views
            (first[0], first[1]),  # the epochs
            (first, other),  # the ranks
        ):
            assert 0.15 < (one == two).mean() < 0.85


@pytest.mark.parametrize("target", WITHOUT_DALI)
def test_the_arguments_of_the_decoder_are_kept(target: str, photos: Path) -> None:
    def text(**args: Any) -> str:
        graph = wb.read(str(photos)).decode(**args).resize(size=(SIDE, SIDE))
        return export(graph, target).main.text

    assert "return decode_with_pillow(encoded)\n" in text()
    assert "decode_with_pillow(encoded, grey=True)\n" in text(output_type="GRAY")
    assert "decode_with_pillow(encoded, adjust_orientation=False)\n" in text(
        adjust_orientation=False
    )
    with pytest.raises(GraphExportError, match=r"^decode\.output_type: "):
        text(output_type="YCbCr")
    with pytest.raises(GraphExportError, match=r"^decode\.dtype: "):
        text(dtype="FLOAT")
