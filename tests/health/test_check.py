"""A check of a folder: its counts, its list of good files, and damaged files of every kind."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import ExifTags, Image

from tests.fuzzed_images import KINDS, write_fuzzed
from tests.health.judges import judged
from tests.thorough import one_in
from workbench.errors import CancelledError, DataError
from workbench.health import check, check_folder
from workbench.sources import Sample, open_dataset


def test_good_photos_are_good(photos: Path) -> None:
    done: list[tuple[int, int]] = []
    found = check_folder(str(photos), lambda *both: done.append(both))
    assert (found.bad, found.of_level("damaged")) == ((), ())
    total = len(list(photos.rglob("*.jpg")))
    assert (found.count, found.full) == (total, True)
    assert done == [(number, total) for number in range(total + 1)]


def test_bad_files_are_named_with_the_reason(tmp_path: Path, photos: Path) -> None:
    good = next(photos.rglob("*.jpg")).read_bytes()
    (tmp_path / "c").mkdir()
    for name, content in {
        "good.jpg": good,
        "half.jpg": good[: len(good) // 2],
        "text.jpg": b"hello",
        "zero.png": b"",
    }.items():
        (tmp_path / "c" / name).write_bytes(content)
    (tmp_path / "c" / "gone.jpg").symlink_to(tmp_path / "nowhere")
    bad = {file.file: file.reason for file in check_folder(str(tmp_path), full=False).bad}
    assert bad.keys() == {f"c/{name}" for name in ("half.jpg", "text.jpg", "zero.png", "gone.jpg")}
    assert "ends early" in bad["c/half.jpg"]
    assert "text" in bad["c/text.jpg"]
    assert "empty" in bad["c/zero.png"]
    assert "No such file" in bad["c/gone.jpg"]


def test_a_check_can_be_stopped(photos: Path) -> None:
    done: list[int] = []
    with pytest.raises(CancelledError):
        check_folder(
            str(photos), lambda now, _: done.append(now), stop=lambda: len(done) > 5, full=False
        )
    assert done == [0, 1, 2, 3, 4, 5]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        check_folder(str(tmp_path / "missing"))


def test_files_that_did_not_change_are_not_checked_again(
    tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, photo in enumerate(sorted(photos.rglob("*.jpg"))[:4]):
        (tmp_path / f"{number}.jpg").write_bytes(photo.read_bytes())
    (tmp_path / "4.jpg").write_text("words")
    asked: list[str] = []
    check_each = check.check_each

    def watched(files: Iterable[Sample], *others: Any) -> Any:
        files = list(files)
        asked.extend(file.name for file in files)
        return check_each(files, *others)

    monkeypatch.setattr(check, "check_each", watched)
    first = check_folder(str(tmp_path), full=False)
    assert len(asked) == 5
    (tmp_path / "2.jpg").write_text("other words")
    second = check_folder(str(tmp_path), full=False)
    assert asked[5:] == ["2.jpg"]
    assert [one.file for one in first.bad] == ["4.jpg"]
    assert [one.file for one in second.bad] == ["2.jpg", "4.jpg"]
    check_folder(str(tmp_path), full=False, again=True)
    assert len(asked) == 11


def test_unusual_files_and_duplicates(tmp_path: Path, photos: Path) -> None:
    photo = next(photos.rglob("*.jpg"))
    with Image.open(photo) as image:
        image.save(tmp_path / "a.jpg")
        image.resize((180, 135)).save(tmp_path / "b_smaller.png")
        image.convert("CMYK").save(tmp_path / "cmyk.jpg")
        image.convert("P").save(tmp_path / "palette.png")
        image.convert("RGBA").save(tmp_path / "alpha.png")
        image.convert("L").convert("I;16").save(tmp_path / "deep.png")
        image.save(tmp_path / "named.png", "JPEG")
        turned = Image.Exif()
        turned[ExifTags.Base.Orientation] = 6
        image.save(tmp_path / "turned.jpg", exif=turned)
        image.save(tmp_path / "moves.webp", save_all=True, append_images=[image.rotate(9)])
    (tmp_path / "z_same.jpg").write_bytes((tmp_path / "a.jpg").read_bytes())
    found = {one.file: {f.kind for f in one.findings} for one in check_folder(str(tmp_path)).files}
    assert found["b_smaller.png"] == {"near duplicate"}
    for file, kind in {
        "cmyk.jpg": "CMYK",
        "palette.png": "palette",
        "alpha.png": "alpha",
        "deep.png": "16 bit",
        "named.png": "wrong ending",
        "turned.jpg": "EXIF turned",
        "moves.webp": "animated",
        "z_same.jpg": "duplicate",
    }.items():
        assert kind in found[file], file
    assert "a.jpg" not in found


def test_a_line_break_in_a_name_is_found_and_no_list_has_it(tmp_path: Path, photos: Path) -> None:
    good = next(photos.rglob("*.jpg")).read_bytes()
    for name, content in {
        "a.jpg": good,
        "b\nc.jpg": good,
        "d\re.jpg": good,
        "f\ng.jpg": b"words",
        "h.jpg": b"words",
    }.items():
        (tmp_path / name).write_bytes(content)
    found = check_folder(str(tmp_path), full=False)
    named = {one.file for one in found.files for each in one.findings if each.kind == "line break"}
    assert named == {"b\nc.jpg", "d\re.jpg", "f\ng.jpg"}
    assert found.good_list() == b"%b 0\n" % bytes(tmp_path / "a.jpg")
    assert found.bad_list() == b"%b\n" % bytes(tmp_path / "h.jpg")
    assert sorted(found.unlistable) == ["b\nc.jpg", "d\re.jpg"]
    (tmp_path / "a.jpg").unlink()
    with pytest.raises(DataError, match="has no good file without a line break"):
        check_folder(str(tmp_path), full=False).good_list()


def test_records_of_one_size_are_no_duplicates_but_the_same_are() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3)).astype(np.uint8)
    found = check_folder(open_dataset([*pixels, pixels[1]]), full=False)
    assert {one.file: one.findings[0].reason for one in found.files} == {"3": "the same as 1"}


# Damaged files of every kind are found, and good ones of every format are not called damaged.


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
