"""Compositions compared with their libraries, on photos."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.pipeline_difference.stand_in import SCRIPT, write_stand_in
from tests.test_displays import MOST, size_of
from workbench.errors import ArgumentError, DataError
from workbench.pipeline_difference import TransformComparison

pytestmark = pytest.mark.usefixtures("started_workers")
"""Put the library on the path of new workers."""


@pytest.fixture(scope="module")
def compared(
    started_workers: None, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> TransformComparison:
    """The stand-in's composition; the library is there while it is compared alone."""
    folder = tmp_path_factory.mktemp("stand-in")
    script = folder / "train.py"
    script.write_text(SCRIPT)
    imported = wb.from_file(script, "train")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(write_stand_in(folder / "library")), *sys.path])
        return wb.compare_transforms(imported, photos, samples=3)


def why(compared: TransformComparison, name: str) -> str:
    (found,) = (each for each in compared.transforms if each.name == name)
    assert found.state != "compared"
    return f"{found.state}: {found.why}"


def test_each_transformation_has_its_figures_or_a_reason(compared: TransformComparison) -> None:
    assert (compared.samples, compared.versions) == (3, {"albumentations": "0.0.1"})
    states = {each.name: each.state for each in compared.transforms}
    assert [name for name, state in states.items() if state == "compared"] == [
        "HorizontalFlip",
        "VerticalFlip",
        "CenterCrop",
    ]
    assert [name for name, state in states.items() if state == "no match"] == [
        "ElasticTransform",
        "Lambda",
    ]
    assert all(each.place.startswith("train.py:") for each in compared.transforms)


def test_what_is_alike_is_equal(compared: TransformComparison) -> None:
    flip = compared.transforms[0]
    assert (flip.text, flip.nodes) == ("HorizontalFlip(p=1.0)", ("flip",))
    assert (flip.mean, flip.largest, flip.equal) == (0, 0, 1)


def test_what_differs_is_measured(compared: TransformComparison) -> None:
    found = compared.transforms[1]
    assert found.mean is not None
    assert found.equal is not None
    assert found.picture is not None
    assert 1.5 / 3 < found.mean <= 2 / 3
    assert found.largest == 2
    assert 2 / 3 <= found.equal < 0.8
    assert found.picture.caption.startswith("VerticalFlip(p=1.0), ")
    width, height = Image.open(io.BytesIO(found.picture.data)).size
    assert width > 2 * height


@pytest.mark.thorough
def test_other_sizes_are_told_with_both(compared: TransformComparison) -> None:
    (crop,) = (each for each in compared.transforms if each.name == "CenterCrop")
    assert crop.sizes == "sizes differ in 3 of 3: (19, 30, 3) and (20, 30, 3)"
    assert crop.mean is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("InvertImg", "not compared: ValueError: not today"),
        (
            "Equalize",
            "not compared: its random values cannot be fixed: the library returns other pixels",
        ),
        ("HueSaturationValue", "not compared: PermissionError: a script"),
        (
            "Transpose",
            "not compared: The worker was terminated by SIGKILL: out of memory, or killed",
        ),
        (
            "Solarize",
            "of albumentations 0.0.1 has no argument threshold; the call is for another version",
        ),
        ("Posterize", "albumentations 0.0.1 has no Posterize; it belongs to another version"),
        ("GaussNoise", "its random values cannot be fixed (random.uniform, noise.gaussian)"),
        ("ElasticTransform", "no match: DALI does not sample such a field"),
        (
            "Lambda",
            "no match: your own functions cannot be imported: rewrite this one with @wb.node",
        ),
    ],
)
def test_what_is_not_compared_says_why(
    compared: TransformComparison, name: str, words: str
) -> None:
    assert words in why(compared, name)


def test_it_shows_itself(compared: TransformComparison) -> None:
    text = repr(compared)
    assert (
        "  3 of 12 transforms compared with albumentations 0.0.1 on 3 photos; largest difference: "
        "CenterCrop(20, 30, p=1.0), different sizes."
    ) in text
    assert "DALI does not sample such a field" in text
    assert size_of(compared) < MOST
    assert compared._repr_html_().count("<img ") == 3
    frame = compared.to_frame()
    assert len(frame) == 12
    assert list(frame["state"]) == [each.state for each in compared.transforms]
    assert frame.loc[1, "largest"] == 2
    assert frame["mean"].isna().sum() == 10
    titles = [axes.get_title() for axes in compared.plot().axes]
    assert titles == ["CenterCrop(20, 30, p=1.0)", "VerticalFlip(p=1.0)", "HorizontalFlip(p=1.0)"]


FLIP = {
    "__class_fullname__": "Compose",
    "p": 1.0,
    "transforms": [{"__class_fullname__": "HorizontalFlip", "p": 0.5}],
}


@pytest.mark.skipif(
    find_spec("albumentations") is not None, reason="albumentations is installed here"
)
def test_a_library_that_is_not_installed_is_one_sentence(photos: Path) -> None:
    imported = wb.from_albumentations(FLIP)
    assert imported.graph.has("flip")
    found = wb.compare_transforms(imported, photos, samples=1)
    line = found.document().sentences[1]
    assert line.startswith("albumentations is not installed here (pip install albumentations). ")
    assert "pip install albumentations" in found._repr_html_()
    with pytest.raises(ArgumentError, match="no pictures, because albumentations is not installed"):
        found.plot()


def test_a_library_that_does_not_load_says_so(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = write_stand_in(tmp_path) / "albumentations" / "__init__.py"
    package.write_text("raise RuntimeError('operator albumentations::nms does not exist')")
    monkeypatch.syspath_prepend(tmp_path)
    found = wb.compare_transforms(wb.from_albumentations(FLIP), photos, samples=1)
    (fault,) = found.missing.values()
    assert "cannot be imported (RuntimeError: operator albumentations::nms does not exist)" in fault


def test_grey_and_broken_photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(write_stand_in(tmp_path / "library"))
    folder = tmp_path / "photos" / "a"
    folder.mkdir(parents=True)
    Image.fromarray(np.arange(80 * 60, dtype=np.uint8).reshape(60, 80)).save(folder / "1.png")
    (folder / "2.jpg").write_bytes(b"no photo")
    found = wb.compare_transforms(wb.from_albumentations(FLIP), tmp_path / "photos")
    assert (found.samples, found.left_out) == (1, ("a/2.jpg",))
    assert found.transforms[0].equal == 1
    assert "Skipped, because they cannot be decoded: a/2.jpg." in repr(found)


def test_bad_data_and_arguments(photos: Path, tmp_path: Path) -> None:
    imported = wb.from_albumentations(FLIP)
    with pytest.raises(DataError, match="is empty"):
        wb.compare_transforms(imported, tmp_path)
    with pytest.raises(DataError, match="'others', but a composition reads only 'data'"):
        wb.compare_transforms(imported, {"data": photos, "others": photos})
    with pytest.raises(ArgumentError, match=r"samples is 0\. Use 1 to 256"):
        wb.compare_transforms(imported, photos, samples=0)
    with pytest.raises(ArgumentError, match=r"imported is .* Use an ImportedGraph: workbench.from"):
        wb.compare_transforms("train.py", photos)  # type: ignore[arg-type]
    w = wb.Workbench(photos, restore=False)
    with pytest.raises(
        ArgumentError, match=r"is a DALI pipeline\. Pass an imported composition of torc"
    ):
        wb.compare_transforms(wb.from_pipeline(w.pipeline()), photos)
    w.close()
