"""Damaged files of every kind are found, and good ones of every format are not called damaged."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from tests.fuzzed_images import KINDS, write_fuzzed
from tests.health.judges import judged
from tests.thorough import one_in
from workbench.health import check_folder


@pytest.mark.parametrize("each", one_in(2, [1, 90]))
def test_what_dali_refuses_or_decoders_warn_of_is_found(
    each: int, photos: Path, tmp_path: Path
) -> None:
    names = write_fuzzed(sorted(photos.rglob("*.jpg"))[:30], tmp_path, each)
    assert len(KINDS) >= 30
    found = {file.file: file for file in check_folder(str(tmp_path)).files}
    judgement = judged([str(tmp_path / name) for name in names])
    silent: Counter[str] = Counter()
    for name in names:
        said = judgement[str(tmp_path / name)]
        levels = {finding.level for finding in found[name].findings} if name in found else set()
        kinds = {finding.kind for finding in found[name].findings} if name in found else set()
        if said["dali"]:
            assert "bad" in levels, (name, said)
        elif said["opencv"]:
            assert levels & {"bad", "damaged"} or "odd metadata" in kinds, (name, said)
        elif not levels & {"bad", "damaged"}:
            silent[name.partition("/")[0]] += 1
    share = silent.total() / len(names)
    print(f"\n{len(names)} files; no decoder can tell {share:.0%}: {dict(silent)}")
    assert share < 0.25


@pytest.mark.parametrize("count", one_in(2, [21, 500]))
def test_good_files_in_every_format_are_good(
    count: int, photos: Path, photos_with_formats: Path, tmp_path: Path
) -> None:
    shutil.copytree(photos_with_formats, tmp_path, dirs_exist_ok=True)
    folder = tmp_path / "modes"
    folder.mkdir()
    sources = sorted(photos.rglob("*.jpg"))
    writings = [
        *(("jpg", mode, {}) for mode in ("RGB", "L", "CMYK")),
        ("jpg", "RGB", {"progressive": True}),
        ("jpg", "RGB", {"optimize": True, "subsampling": 0}),
        *(("png", mode, {}) for mode in ("RGB", "RGBA", "L", "LA", "P", "1", "I;16")),
        ("png", "RGB", {"optimize": True}),
        *(
            ("tiff", "RGB", {"compression": kind})
            for kind in (None, "tiff_lzw", "tiff_adobe_deflate")
        ),
        ("webp", "RGB", {}),
        ("webp", "RGB", {"lossless": True}),
        ("bmp", "RGB", {}),
        ("bmp", "L", {}),
        ("ppm", "RGB", {}),
        ("pgm", "L", {}),
        ("jp2", "RGB", {}),
    ]
    for number in range(count):
        ending, mode, options = writings[number % len(writings)]
        with Image.open(sources[number % len(sources)]) as image:
            image.thumbnail((200, 200))
            image.convert("L" if mode == "I;16" else mode).convert(mode).save(
                folder / f"{number:03}.{ending}", **options
            )
    found = check_folder(str(tmp_path))
    assert found.count > count
    assert [(one.file, one.reason) for one in found.files if one.level != "unusual"] == []


def _tiffs() -> dict[str, tuple[Any, dict[str, Any]]]:
    rows, columns = np.mgrid[0:40, 0:60].astype(np.uint8)
    grey = columns * 4
    colours = np.stack([grey, rows * 6, 255 - grey], -1)
    planes = np.moveaxis(colours, -1, 0).copy()
    separate = {"planarconfig": "separate"}
    inks = np.dstack([colours, rows])
    return {
        "planar.tif": (planes, {"photometric": "rgb", **separate}),
        "cmyk.tif": (inks, {"photometric": "separated"}),
        "planar_cmyk.tif": (
            np.moveaxis(inks, -1, 0).copy(),
            {"photometric": "separated", **separate},
        ),
        "white_is_zero.tif": (grey, {"photometric": "miniswhite"}),
        "tiled.tif": (colours, {"photometric": "rgb", "tile": (16, 16)}),
        "bad_planar.tif": (planes.astype(np.uint16) * 257, {"photometric": "rgb", **separate}),
        "bad_white.tif": (grey.astype(np.uint16) * 257, {"photometric": "miniswhite"}),
        "bad_two.tif": (
            np.dstack([grey, rows]),
            {"photometric": "minisblack", "planarconfig": "contig"},
        ),
    }


def test_tiffs_are_damaged_only_where_dali_decodes_them_to_wrong_pixels(tmp_path: Path) -> None:
    for name, (pixels, options) in _tiffs().items():
        tifffile.imwrite(tmp_path / name, pixels, **options)
    Image.fromarray(_tiffs()["tiled.tif"][0]).convert("YCbCr").save(tmp_path / "ycc.tif")
    found = check_folder(str(tmp_path))
    damaged = found.of_level("bad", "damaged")
    assert {file.file for file in damaged} == {"bad_planar.tif", "bad_white.tif", "bad_two.tif"}
    assert {f.kind for file in damaged for f in file.findings if f.level == "damaged"} >= {
        "wrong pixels"
    }
    good = [line.rpartition(b" ")[0] for line in found.good_list().splitlines()]
    assert len(good) == 6
