"""Two versions are compared, and their pictures are those of the same samples."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.versions.test_render import a_graph, write_photos
from workbench.cli import main
from workbench.errors import ArgumentError, DataError
from workbench.versions.pictures import pictures_of, samples_by_class


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    graph = a_graph(write_photos(folder / "photos"))
    wb.render(graph, folder / "v1", copies=2, workers=1)
    turned = graph.flip(horizontal=1)
    wb.render(turned, folder / "v2", split=(0.5, 0.5), quality=90, workers=1)
    return folder


def test_the_difference_names_graph_settings_and_counts(versions: Path) -> None:
    found = wb.open_version(versions / "v1").diff(versions / "v2")
    assert [(each.change, each.node) for each in found.graphs["train"]] == [
        ("added", "flip"),
        ("changed", ""),
    ]
    assert found.settings == {
        "copies": ("2", "1"),
        "split": ("1", "0.5, 0.5"),
        "pictures": ("PNG", "JPEG 90"),
    }
    assert found.counts["train", ""] == (24, 6)
    assert found.counts["val", "cat"] == (0, 3)
    same = wb.open_version(versions / "v1").diff(versions / "v1")
    assert "The graphs are equal." in str(same)
    assert not any(same.graphs.values()) | bool(same.settings)


def test_pictures_of_the_same_samples(versions: Path) -> None:
    version = wb.open_version(versions / "v1")
    chosen = samples_by_class(version)
    assert [record.label for _, record in chosen[:4]] == [0, 1, 0, 1]
    pictures = pictures_of(version, chosen)
    for _, record in chosen:
        with Image.open(version.path / record.paths["png"]) as stored:
            assert (pictures[record.key] == np.asarray(stored)).all()
    figure = version.diff(versions / "v2").plot(3)
    titles = [axes.get_title() for axes in figure.axes]
    assert len(titles) == 6
    for one, other in zip(titles[::2], titles[1::2], strict=True):
        assert one.partition("\n")[0] == other.partition("\n")[0]
        assert "v1, train" in one
    assert len(version.plot("train", rows=2).axes) == 8
    assert "<td>cat</td><td>12</td>" in version._repr_html_()
    with pytest.raises(ArgumentError, match=r"split is 'val'\. Use one of train"):
        version.plot("val")


def test_a_missing_picture_is_named(versions: Path, tmp_path: Path) -> None:
    shutil.copytree(versions / "v1", tmp_path / "v1")
    for path in (tmp_path / "v1" / "train").rglob("*.png"):
        path.unlink()
    with pytest.raises(DataError, match=r"\.png is missing"):
        wb.open_version(tmp_path / "v1").plot()


def test_the_command_compares_and_saves_a_sheet(versions: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    command = ["versions", str(versions), "--diff"]
    done = CliRunner().invoke(main, [*command, "v1", "v2", "-o", str(sheet)])
    assert done.exit_code == 0, done.output
    assert done.output.split().count("flip") == 2
    with Image.open(sheet) as picture:
        assert picture.width > 500
    listed = CliRunner().invoke(main, ["versions", str(versions)])
    assert "v1: 24 train, folder, PNG" in listed.output
    wrong = CliRunner().invoke(main, [*command, "v1", "v3"])
    assert wrong.exit_code == 2
    assert "no version 'v3'" in wrong.output
    assert "Versions there: v1, v2." in wrong.output
