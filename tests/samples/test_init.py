"""The sample photos: what they are, that they repeat, and that nothing foreign is touched."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench import samples
from workbench.errors import DataError, SaveError
from workbench.samples import ENLARGE, LONGEST, PHOTOS, SHORTEST, plan_cuts, write_samples


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def cat_alone() -> Iterator[None]:
    """Of the photographs, one; afterwards all again, in their order, which samples go by."""
    every = dict(PHOTOS)
    PHOTOS.clear()
    PHOTOS["cat"] = every["cat"]
    yield
    PHOTOS.clear()
    PHOTOS.update(every)


def test_at_least_96_photos_in_8_classes(photos: Path) -> None:
    classes = [path for path in photos.iterdir() if path.is_dir()]
    files = list(photos.glob("*/*.jpg"))
    assert len(classes) >= 8
    assert len(files) >= 96
    assert {path for path in photos.rglob("*") if path.is_file()} == set(files)
    assert sum(path.stat().st_size for path in files) < 15e6


def test_photos_are_colour_jpegs_of_mixed_size(photos: Path) -> None:
    sizes = []
    for path in photos.glob("*/*.jpg"):
        with Image.open(path) as picture:
            picture.load()
            assert (picture.format, picture.mode) == ("JPEG", "RGB")
            sizes.append(picture.size)
    assert all(SHORTEST <= side <= LONGEST for size in sizes for side in size)
    assert len(set(sizes)) > 90
    assert sum(w > h for w, h in sizes) > 30
    assert sum(w < h for w, h in sizes) > 30


def test_no_two_photos_are_alike(photos: Path) -> None:
    assert len(set(digests(photos).values())) == len(digests(photos))


@pytest.mark.parametrize("size", [(451, 300), (300, 451), (512, 512), (1411, 1411)])
@pytest.mark.parametrize("name", PHOTOS)
def test_cuts_lie_inside_and_are_not_blown_up(name: str, size: tuple[int, int]) -> None:
    for cut in plan_cuts(name, *size):
        left, upper, right, lower = cut.box
        assert 0 <= left < right <= size[0]
        assert 0 <= upper < lower <= size[1]
        for drawn, length in zip(cut.size, (right - left, lower - upper), strict=True):
            assert SHORTEST <= drawn <= LONGEST
            assert drawn / length < ENLARGE * 1.02  # 1.02: sides are whole pixels


def test_a_second_run_writes_the_same_bytes(photos_with_formats: Path, tmp_path: Path) -> None:
    write_samples(tmp_path / "again", formats=True)
    assert digests(tmp_path / "again") == digests(photos_with_formats)


@pytest.mark.thorough
def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert write_samples(tmp_path / "new") >= 96


def test_the_photo_says_where_it_is_from(photos: Path) -> None:
    with Image.open(photos / "temple" / "temple_01.jpg") as picture:
        assert b"china.jpg of sklearn by danielbuechele, CC BY 2.0" in picture.info["comment"]


def test_what_is_there_stays(photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path, dirs_exist_ok=True)
    count = write_samples(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert write_samples(tmp_path) == count
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before

    shutil.rmtree(tmp_path / "cat")
    assert write_samples(tmp_path, formats=True) == count + 9
    assert write_samples(tmp_path) == count
    assert len(list(tmp_path.glob("cat/*.jpg"))) == len(list(tmp_path.glob("coins/*.jpg")))
    assert (tmp_path / "coins").stat().st_mtime_ns == before[tmp_path / "coins"]


@pytest.mark.parametrize("foreign", ["holiday.jpg", "dog/dog.jpg", "cat/mine.jpg"])
def test_a_folder_with_other_content_is_refused(foreign: str, tmp_path: Path) -> None:
    (tmp_path / foreign).parent.mkdir(exist_ok=True)
    (tmp_path / foreign).write_text("mine")
    with pytest.raises(DataError, match=rf"{foreign.split('/')[0]}.*empty folder"):
        write_samples(tmp_path)
    assert list(digests(tmp_path)) == [foreign]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").write_text("mine")
    with pytest.raises(DataError, match="is a file"):
        write_samples(tmp_path / "photos")
    assert (tmp_path / "photos").read_text() == "mine"


@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_leaves_nothing(
    exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    if exists:
        folder.mkdir()
    whole, written = Image.Image.save, 0

    def save(picture: Image.Image, path: Path, **options: object) -> None:
        nonlocal written
        written += 1
        if written > 15:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        whole(picture, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Image.Image, "save", save)
    with pytest.raises(SaveError, match="No space left on device"):
        write_samples(folder)
    assert list(tmp_path.rglob("*")) == ([folder] if exists else [])


@pytest.mark.usefixtures("cat_alone")
def test_a_run_that_was_killed_is_taken_up(tmp_path: Path, photos: Path) -> None:
    half = tmp_path / f"{samples.UNFINISHED}x" / "cat"
    half.mkdir(parents=True)
    (half / "cat_01.jpg").write_text("half")
    os.utime(half.parent, (0, 0))
    write_samples(str(tmp_path / "photos"))
    assert not half.parent.exists()
    assert digests(tmp_path / "photos" / "cat") == digests(photos / "cat")


@pytest.mark.thorough
def test_two_runs_at_once_give_one_result(tmp_path: Path, photos: Path) -> None:
    folder = tmp_path / "photos"
    code = f"from workbench import write_samples; print(write_samples({str(folder)!r}))"
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [run.communicate()[0] for run in runs] == [f"{len(digests(photos))}\n"] * 2
    assert digests(folder) == digests(photos)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.thorough
@pytest.mark.parametrize("fails", [True, False])
def test_a_run_that_comes_second_leaves_the_others_photos(
    fails: bool, tmp_path: Path, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "photos"
    save, first = Image.Image.save, True

    def finish_first(picture: Image.Image, path: Path, **options: object) -> None:
        nonlocal first
        if first:
            first = False
            shutil.copytree(photos, folder, dirs_exist_ok=True)
        if fails:
            raise OSError(28, "No space left on device")
        save(picture, path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Image.Image, "save", finish_first)
    if fails:
        with pytest.raises(SaveError):
            write_samples(folder)
    else:
        assert write_samples(folder) == len(digests(photos))
    assert digests(folder) == digests(photos)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.usefixtures("cat_alone")
def test_a_folder_whose_parent_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = []
    make = tempfile.mkdtemp

    def note(prefix: str, dir: Path) -> str:
        places.append(dir)
        return make(prefix=prefix, dir=dir)

    monkeypatch.setattr(tempfile, "mkdtemp", note)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    (tmp_path / "photos").mkdir()
    assert write_samples(tmp_path / "photos") == len(list(tmp_path.glob("photos/cat/*.jpg")))
    assert places == [tmp_path / "photos"]
    assert not list((tmp_path / "photos").glob(".*"))


def test_a_wheel_without_its_photographs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PHOTOS, "cat", samples.Photo("skimage", "data/gone.png", (0.5, 0.5)))
    with pytest.raises(DataError, match=r"data/gone\.png is not in the installed package skimage"):
        write_samples(tmp_path / "photos")
    assert not (tmp_path / "photos").exists()


def test_formats_are_what_they_say(photos_with_formats: Path) -> None:
    kinds = {}
    for path in (photos_with_formats / "formats").iterdir():
        with Image.open(path) as picture:
            turn = picture.getexif().get(samples.EXIF_ORIENTATION)
            kinds[path.name] = (picture.format, picture.mode, turn)
    assert kinds == {
        "coffee.png": ("PNG", "RGB", None),
        "flower.webp": ("WEBP", "RGB", None),
        "rocket.tiff": ("TIFF", "RGB", None),
        "cat.bmp": ("BMP", "RGB", None),
        "motorcycle.ppm": ("PPM", "RGB", None),
        "temple.jp2": ("JPEG2000", "RGB", None),
        "photographer_gray.jpg": ("JPEG", "L", None),
        "astronaut_cmyk.jpg": ("JPEG", "CMYK", None),
        "temple_exif_rotated.jpg": ("JPEG", "RGB", samples.TURNED_LEFT),
    }


def test_dali_decodes_every_format_upright(photos_with_formats: Path) -> None:
    from nvidia.dali import fn, pipeline_def

    files = sorted((photos_with_formats / "formats").iterdir())

    @pipeline_def(batch_size=len(files), num_threads=2, device_id=None)
    def decoded():
        encoded, _ = fn.readers.file(files=[str(path) for path in files])
        return fn.decoders.image(encoded)

    pipeline = decoded()
    pipeline.build()
    (batch,) = pipeline.run()
    for path, picture in zip(files, map(np.asarray, batch), strict=True):
        photo = np.asarray(samples._load(path.stem.split("_")[0]))
        assert picture.shape == photo.shape, path.name
        # Lossy files differ a little from the photograph; a turned or inverted one differs a lot.
        assert np.abs(picture.astype(int) - photo.astype(int)).mean() < 6, path.name
