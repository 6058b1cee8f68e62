from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.damaged import make_folder
from tests.helpers import chain_graph, import_script, with_settings
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import verify
from workbench.sources import (
    Dataset,
    class_names,
    dump_file_list,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
    require_dataset,
    unreadable_reason,
)
from workbench.sources.class_folders import IMAGES
from workbench.sources.kinds.folder import SOUNDS, find_files


def listed(data: Path) -> list[tuple[str, int]]:
    return [(file.name, file.label) for file in list_samples(open_dataset(data))]


def test_the_suffixes_are_those_that_dali_looks_for() -> None:
    default = load_catalog()["readers.file"].args["file_filters"].default
    assert isinstance(default, tuple)
    assert {f"*{suffix}" for suffix in IMAGES + SOUNDS} == set(map(str, default))


def test_class_folders_give_labels_in_order(photos: Path) -> None:
    found = listed(photos)
    names = sorted(path.name for path in photos.iterdir())
    assert class_names(open_dataset(photos)) == names
    assert found == [
        (f"{name}/{file.name}", label)
        for label, name in enumerate(names)
        for file in sorted((photos / name).iterdir())
    ]


def test_a_flat_folder_has_one_label_also_beside_hidden_ones(photos: Path, tmp_path: Path) -> None:
    data = tmp_path / "flat"
    shutil.copytree(photos / "coffee", data)
    (data / ".ipynb_checkpoints").mkdir()
    (data / "notes.txt").touch()
    assert class_names(open_dataset(data)) == []
    names = sorted(path.name for path in (photos / "coffee").iterdir())
    assert listed(data) == [(name, 0) for name in names]


def test_what_cannot_be_read(photos: Path, tmp_path: Path) -> None:
    bad, good = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    (bad / "class" / "link.jpg").symlink_to(tmp_path / "gone.jpg")
    reasons = {file.name: unreadable_reason(file.path) for file in list_samples(open_dataset(bad))}
    assert {path: reason for path, reason in reasons.items() if reason} == {
        "class/00_empty.jpg": "the file is empty",
        "class/link.jpg": "No such file or directory",
    }
    assert not any(unreadable_reason(file.path) for file in list_samples(open_dataset(good)))


def test_why_there_is_no_image(tmp_path: Path) -> None:
    data = Dataset("folder", str(tmp_path))
    assert no_files_reason(data).endswith("is empty. Give a folder of images.")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).touch()
    text = no_files_reason(data)
    assert "(found: a.txt, b.txt, c.txt, ...)" in text
    assert all(suffix in text for suffix in IMAGES)
    (tmp_path / "photo.JPG").touch()
    (tmp_path / "folder").mkdir()
    assert "images beside folders are not read" in no_files_reason(data)


def test_a_function_s_name_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="In Python give what a function makes, not its name"):
        require_dataset(open_dataset(f"{tmp_path}/factory.py:photos"))


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        listed(tmp_path / "missing")
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="is a file"):
        listed(tmp_path / "file")


def test_the_exported_function_is_this_one_and_runs_by_itself(photos: Path) -> None:
    namespace: dict[str, object] = {}
    exec(f"import os\nfrom typing import Any\n{load_source('folder').find_source}", namespace)
    exported = namespace["find_files"]
    assert callable(exported)
    assert namespace["IMAGES"] == IMAGES
    for data in (str(photos), str(photos / "coffee")):
        assert exported(data) == find_files(data)


def test_links_in_a_circle_and_names_that_are_not_utf8_lose_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    name = os.fsdecode(b"caf\xe9.jpg")
    for file in ("a.jpg", name):
        (tmp_path / "c" / file).write_bytes(b"x")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "again").symlink_to(".")
    (tmp_path / "c" / "lost.jpg").symlink_to("lost.jpg")
    found = [file.name for file in list_samples(open_dataset(tmp_path))]
    assert found == ["circle", "c/a.jpg", f"c/{name}", "c/lost.jpg"]
    assert class_names(open_dataset(tmp_path)) == ["again", "c"]


def test_a_list_of_names_that_are_not_utf8_is_read_by_dali_itself(
    tmp_path: Path, photos: Path
) -> None:
    photo = next(photos.rglob("*.jpg")).read_bytes()
    names = [os.fsdecode(b"caf\xe9.jpg"), "two words.jpg"]
    for name in names:
        (tmp_path / name).write_bytes(photo)
    listed = tmp_path / "good.txt"
    listed.write_bytes(dump_file_list(list_samples(open_dataset(tmp_path))))
    dataset = open_dataset(listed)
    assert [Path(file.path).name for file in list_samples(dataset)] == names
    graph = with_settings(chain_graph("resize"), batch_size=2)
    with Engine() as engine:
        for data in (str(tmp_path), str(listed)):
            tiles = preview_batch(engine, PreviewRequest(graph, data)).tiles
            assert [Path(tile.sample.file).name for tile in tiles] == names
    assert verify(graph, str(listed), 1).exact


@pytest.mark.parametrize("path", ["x" * 300, "/x" * 2048], ids=["name", "path"])
def test_a_path_that_is_too_long(path: str) -> None:
    with pytest.raises(
        DataError, match=r"\.\.\. cannot be read: File name too long\. Give"
    ) as told:
        require_dataset(open_dataset(path))
    assert len(str(told.value)) < 400


def test_what_dali_reads_by_itself_needs_no_function(photos: Path, tmp_path: Path) -> None:
    graph = load_recipe("imagenet-eval")
    listed = tmp_path / "good.txt"
    listed.write_bytes(dump_file_list(list_samples(open_dataset(photos))))
    reads = {
        None: "file_root=data",
        photos: "file_root=data",
        photos / "coffee": "**find_files(data)",
        listed: "file_list=data",
    }
    for data, argument in reads.items():
        text = export(graph, data=data).main.text
        assert f"fn.readers.file({argument}, " in text, data
        assert ("IMAGES" in text) == argument.startswith("**")
        if data is not None:
            script = import_script(text, tmp_path)
            assert len(script.build_pipeline(str(data), batch_size=2).run()[0]) == 2
