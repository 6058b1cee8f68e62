from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.damaged import make_folder
from tests.helpers import chain_graph, script_batches, with_settings
from workbench.catalog import load_catalog
from workbench.emit import emit_stage
from workbench.engine.reading import IMAGE_SUFFIXES, Reading, no_images, unreadable_files
from workbench.graph import Port
from workbench.graph.edit import set_arg

SIZE, SEED = 3, 42


def reading(data: Path, shuffle: bool = True) -> Reading:
    graph = set_arg(chain_graph(), load_catalog(), "reader", "random_shuffle", shuffle)
    taps = [Port("reader", "jpegs"), Port("reader", "labels")]
    source = emit_stage(graph, load_catalog(), ["reader"], taps, {})
    return Reading(source, str(data), SEED, SIZE)


def test_batches_in_any_order_are_those_of_the_script(photos: Path, tmp_path: Path) -> None:
    graph = set_arg(chain_graph(), load_catalog(), "reader", "random_shuffle", True)
    graph = with_settings(graph, batch_size=SIZE, seed=SEED)
    expected = [labels for _, labels in script_batches(graph, photos, 13, tmp_path)]
    reader = reading(photos)
    for batch in (12, 0, 5, 11, 12, 1):
        read = reader.batch(batch)
        assert np.array_equal(read.arrays[1], expected[batch]), batch
        for file, encoded in zip(read.files, read.arrays[0], strict=True):
            assert (photos / file).read_bytes() == encoded.tobytes()


def test_read_arrays_do_not_change_with_the_next_batch(photos: Path) -> None:
    reader = reading(photos)
    first = reader.batch(0)
    copies = [array.copy() for array in first.arrays[0]]
    for batch in range(1, 4):
        reader.batch(batch)
    for mine, its in zip(first.arrays[0], copies, strict=True):
        assert np.array_equal(mine, its)


def test_closing_removes_the_shadow_folder(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    reader = reading(bad, shuffle=False)
    read = reader.batch(0)
    assert reader.unreadable == {"class/00_empty.jpg": "the file is empty"}
    assert read.files == ("class/00_a.jpg", "class/00_empty.jpg", "class/01_a.jpg")
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    reader.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_unreadable_files(photos: Path, tmp_path: Path) -> None:
    bad, good = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    (bad / "class" / "link.jpg").symlink_to(tmp_path / "gone.jpg")
    assert unreadable_files(str(bad)) == {
        "class/00_empty.jpg": "the file is empty",
        "class/link.jpg": "No such file or directory",
    }
    assert unreadable_files(str(good)) == {}


def test_why_there_is_no_image(tmp_path: Path) -> None:
    assert no_images(str(tmp_path)).endswith("is empty. Give a folder of images.")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).touch()
    text = no_images(str(tmp_path))
    assert "(found: a.txt, b.txt, c.txt, ...)" in text
    assert all(suffix in text for suffix in IMAGE_SUFFIXES)
    (tmp_path / "photo.JPG").touch()
    (tmp_path / "folder").mkdir()
    assert "images beside folders are not read" in no_images(str(tmp_path))


def test_the_suffixes_are_those_that_dali_looks_for() -> None:
    doc = load_catalog()["readers.file"].args["file_filters"].default
    assert isinstance(doc, tuple)
    assert {f"*{suffix}" for suffix in IMAGE_SUFFIXES} <= set(map(str, doc))
