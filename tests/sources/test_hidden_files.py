"""Hidden, empty and system files and folders: every source and export reads the same files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from workbench.cli import main
from workbench.emit.targets import export
from workbench.graph import load_recipe
from workbench.sources import (
    class_names,
    describe_not_read,
    list_samples,
    load_source,
    open_dataset,
)

FOLDERS = (".ipynb_checkpoints", ".git", "__MACOSX", "@eaDir", "$RECYCLE.BIN")


def write_photo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 8, 3), 90, np.uint8)).save(path)


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    for name in ("bee", "cat"):
        write_photo(tmp_path / "animals" / name / "0.png")
    return tmp_path / "animals"


def labels_of(data: str) -> dict[str, int]:
    return {file.name: file.label for file in list_samples(open_dataset(data))}


def read_by_dali(data: str, kind: str) -> list[int]:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def labels() -> Any:
        _, label = fn.readers.file(name="reader", **load_source(kind).find(data))
        return label

    pipe = labels()
    count = pipe.reader_meta("reader")["epoch_size"]
    return [int(pipe.run()[0].at(0)[0]) for _ in range(count)]


@pytest.mark.parametrize("with_image", [False, True])
@pytest.mark.parametrize("extra", FOLDERS)
def test_a_hidden_folder_is_no_class(animals: Path, extra: str, with_image: bool) -> None:
    (animals / extra).mkdir()
    if with_image:
        write_photo(animals / extra / "0.png")
    for kind in ("folder", "pillow_images"):
        assert labels_of(f"{kind}:{animals}") == {"bee/0.png": 0, "cat/0.png": 1}
        assert class_names(open_dataset(f"{kind}:{animals}")) == ["bee", "cat"]
        assert read_by_dali(str(animals), kind) == [0, 1]
        assert extra in " ".join(describe_not_read(open_dataset(f"{kind}:{animals}")))


def test_a_hidden_file_is_no_sample(animals: Path) -> None:
    shutil.copy(animals / "bee" / "0.png", animals / "bee" / "._0.png")
    assert labels_of(str(animals)) == {"bee/0.png": 0, "cat/0.png": 1}
    assert read_by_dali(str(animals), "folder") == [0, 1]
    assert "bee/._0.png" in " ".join(describe_not_read(open_dataset(animals)))


@pytest.mark.parametrize("suffix", [".npy", ".wav", ".avi"])
def test_hidden_folders_are_no_class_of_arrays_sounds_and_videos(
    tmp_path: Path, suffix: str
) -> None:
    kind = {".npy": "numpy_files", ".wav": "sounds", ".avi": "video"}[suffix]
    for name in (*FOLDERS, "bee", "cat"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"0{suffix}").touch()
        (tmp_path / name / f"._0{suffix}").touch()
    dataset = open_dataset(f"{kind}:{tmp_path}")
    assert class_names(dataset) == ["bee", "cat"]
    found = load_source(kind).find(str(tmp_path))
    files = found.get("files") or found["filenames"]
    assert [os.path.relpath(tmp_path / file, tmp_path) for file in files] == [
        f"bee/0{suffix}",
        f"cat/0{suffix}",
    ]
    assert "Hidden and system files" in describe_not_read(dataset)[0]


@pytest.mark.parametrize(
    ("suffix", "kind"), [(".npy", "numpy_files"), (".wav", "sounds"), (".avi", "video")]
)
def test_an_empty_first_class_folder_keeps_its_number(
    tmp_path: Path, suffix: str, kind: str
) -> None:
    for name in ("ant", "bee"):
        (tmp_path / name).mkdir()
    (tmp_path / "bee" / f"0{suffix}").touch()
    dataset = open_dataset(tmp_path)
    assert dataset.kind == kind
    assert load_source(kind).find(str(tmp_path))["labels"] == [1]
    assert "The class folder ant/ has no" in describe_not_read(dataset)[0]


def test_what_is_not_read_is_named_with_its_count(animals: Path) -> None:
    write_photo(animals / "loose.png")
    write_photo(animals / "bee" / "inner" / "deep.png")
    (animals / "cat" / "notes.TXT").touch()
    (animals / "dog").mkdir()
    told = describe_not_read(open_dataset(animals))
    assert [text for text in told if "(1): loose.png." in text]
    assert [text for text in told if "(1): bee/inner/deep.png." in text]
    assert [text for text in told if "(1): cat/notes.TXT." in text]
    assert told[-1] == "The class folder dog/ has no image; its class number 2 is kept."


def test_check_and_export_name_what_is_not_read(animals: Path, tmp_path: Path) -> None:
    (animals / "__MACOSX").mkdir()
    write_photo(animals / "loose.png")
    script = str(tmp_path / "x.py")
    for command in (
        ["check", str(animals)],
        ["export", "rotate-jitter", "--data", str(animals), "-o", script],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0
        assert "__MACOSX/" in done.output
        assert "loose.png" in done.output


def test_an_ordinary_folder_is_read_by_dali_itself(animals: Path) -> None:
    (animals / "bee" / ".DS_Store").touch()
    (animals / "README.txt").touch()
    assert load_source("folder").find(str(animals)) == {"file_root": str(animals)}
    direct = export(load_recipe("rotate-jitter"), data=str(animals)).main.text
    assert "find_files" not in direct
    (animals / ".git").mkdir()
    assert "find_files" in export(load_recipe("rotate-jitter"), data=str(animals)).main.text


@pytest.mark.parametrize(
    "target", ["script", "pytorch", "jax", "dynamic", "tensorflow", "ray", "notebook", "triton"]
)
def test_a_program_that_would_read_hidden_folders_says_so(animals: Path, target: str) -> None:
    words = "DALI reads hidden folders such as .ipynb_checkpoints as classes"
    graph = load_recipe("imagenet-eval")
    for data in (None, str(animals)):
        text = export(graph, target, data=data).main.text
        assert (words in text) == (target != "triton")  # its images come from requests
    (animals / ".git").mkdir()
    for path in (animals, animals / "bee"):
        assert words not in export(graph, target, data=str(path)).main.text


@pytest.mark.parametrize("target", ["torchvision", "albumentations"])
def test_an_export_without_dali_reads_the_same_files(
    animals: Path, tmp_path: Path, target: str
) -> None:
    pytest.importorskip({"torchvision": "torchvision"}.get(target, target))
    for name in ("bee/1.PPM", "cat/2.webp", "cat/._2.webp", "__MACOSX/0.png", "loose.jpg"):
        write_photo(animals / name)
    write_photo(animals / "cat" / "deeper" / "3.png")
    (animals / "ant").mkdir()
    namespace: dict[str, Any] = {}
    exec(export(load_recipe("rotate-jitter"), target, data=str(animals)).main.text, namespace)
    for data in (animals, animals / "cat"):
        if data.name == "cat":
            shutil.rmtree(data / "deeper")
        loader = namespace["make_loader"](str(data), num_workers=0)
        found = {os.path.relpath(path, data): label for path, label in loader.dataset.samples}
        assert found == labels_of(str(data))


def test_an_export_without_dali_refuses_a_list_of_files(animals: Path, tmp_path: Path) -> None:
    from workbench.errors import GraphExportError
    from workbench.graph.execution.dataset_parameters import with_datasets
    from workbench.sources import open_datasets

    listed = tmp_path / "list.txt"
    listed.write_text(f"{animals}/bee/0.png 5\n", encoding="utf-8")
    data = open_datasets(str(listed))
    graph = with_datasets(load_recipe("rotate-jitter"), data)
    with pytest.raises(GraphExportError, match="reads a folder of images"):
        export(graph, "torchvision", data=str(listed))
