"""Hidden, empty and system files and folders: every source and export reads the same files."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from tests.damaged import make_folder
from tests.helpers import chain_graph, import_script, with_settings
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import DataError, GraphExportError
from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import verify
from workbench.sources import (
    Dataset,
    class_names,
    describe_not_read,
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
    assert no_files_reason(data).endswith("is empty. Use a folder of images.")
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).touch()
    text = no_files_reason(data)
    assert "(found: a.txt, b.txt, c.txt, ...)" in text
    assert all(suffix in text for suffix in IMAGES)
    (tmp_path / "photo.JPG").touch()
    (tmp_path / "folder").mkdir()
    assert "images next to them are not read" in no_files_reason(data)


def test_a_function_s_name_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="or pass the object instead of its name"):
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
    with pytest.raises(DataError, match=r"\.\.\. cannot be read: File name too long\. Use") as told:
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


def test_what_is_not_read_is_named_with_its_count_in_one_line(animals: Path) -> None:
    write_photo(animals / "loose.png")
    write_photo(animals / "bee" / "inner" / "deep.png")
    (animals / "cat" / "notes.TXT").touch()
    (animals / "cat" / "Thumbs.db").touch()
    (animals / "dog").mkdir()
    assert describe_not_read(open_dataset(animals)) == [
        "Not read: hidden and system files and folders (1: cat/Thumbs.db); images next to the "
        "folders that are read (1: loose.png); images in other folders (1: bee/inner/deep.png); "
        "files with other endings (1: cat/notes.TXT). Class folders without images keep their "
        "number: dog/ (2)."
    ]


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


KINDS = ("folder", "pillow_images", "file_list", "list", "frame", "named list")
NAMES = ("bee", "Cat", "ant", "10", "9", "été", "a b", ".git", "__MACOSX", "@eaDir", "._x", "[a]")
FILES = (
    *("0.png", "1.PNG", "2.jpg", "3.JPEG", "4.webp", "5.ppm", "6.bmp", "7.tif", "a b.png"),
    *("._0.png", ".hidden.jpg", "Thumbs.db", "notes.txt", "8.gif", "inner/9.png", "10.png"),
)

Found = list[tuple[str, int]]


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of each ending, which are copied."""
    folder = tmp_path_factory.mktemp("photos")
    image = Image.fromarray(np.full((8, 8, 3), 90, np.uint8))
    for ending in (".png", ".jpg", ".jpeg", ".webp", ".ppm", ".bmp", ".tif", ".gif"):
        image.save(folder / f"0{ending}")
    for ending in (".db", ".txt"):
        (folder / f"0{ending}").touch()
    return folder


def write_layout(folder: Path, photos: Path, draw: random.Random) -> None:
    places = draw.sample(NAMES, draw.randrange(5))
    for place in [*places, *[""] * draw.choice((0, 0, 1))] or [""]:
        for name in draw.sample(FILES, draw.randrange(4)) + ["0.png"] * draw.choice((0, 1)):
            path = folder / place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(photos / f"0{path.suffix.lower()}", path)
        (folder / place).mkdir(exist_ok=True)


def given_as(kind: str, folder: Path, draw: random.Random) -> Any:
    if kind in ("folder", "pillow_images"):
        return f"{kind}:{folder}"
    files = sorted(str(path) for path in folder.rglob("*.*") if path.suffix.lower() in ENDINGS)
    draw.shuffle(files)
    if kind == "list":
        return files
    texts = draw.choice((True, False))
    labels = [draw.choice("xyz") if texts else draw.randrange(9) for _ in files]
    if kind == "named list":
        return list(zip(files, labels, strict=True))
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame({draw.choice(("path", "img", "File")): files, "label": labels})
    listed = folder.parent / f"{folder.name}.csv"
    rows = [f'"{file}",{label}\n' for file, label in zip(files, labels, strict=True)]
    listed.write_text("path,label\n" + "".join(rows), encoding="utf-8")
    return str(listed)


ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".ppm", ".bmp", ".tif")


def layout_read_by_dali(namespace: dict[str, Any], dataset: Dataset) -> Found:
    """What DALI reads with the arguments of the exported script, in its order."""
    from nvidia.dali import fn, pipeline_def

    kind = load_source(dataset.kind)
    find = namespace.get(kind.find.__name__)
    argument = kind.path_argument(dataset)
    given = find(dataset.argument) if find else {argument: dataset.argument}

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def read() -> Any:
        image, label = fn.readers.file(name="reader", **given)
        return image, label

    root = os.path.abspath(given.get("file_root", ""))
    pipe = read()
    found = []
    for _ in range(pipe.reader_meta("reader")["epoch_size"]):
        image, label = pipe.run()
        found.append((os.path.join(root, image[0].source_info()), int(label.at(0)[0])))
    return found


def without_dali(target: str, dataset: Dataset) -> Found | None:
    """Return the files that the exported loader lists, or None if the export is refused."""
    graph = with_datasets(load_recipe("rotate-jitter"), {"data": dataset})
    try:
        code = export(graph, target, data=dataset).main.text
    except GraphExportError:
        return None
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    loader = namespace["make_loader"](dataset.location, num_workers=0)
    return [(os.path.abspath(path), label) for path, label in loader.dataset.samples]


def compare(seed: int, folder: Path, photos: Path) -> str:
    """What was compared, in a word. Fails where two read otherwise."""
    draw = random.Random(seed)
    write_layout(folder, photos, draw)
    kind = draw.choice(KINDS)
    try:
        dataset = open_dataset(given_as(kind, folder, draw))
        require_dataset(dataset)
        preview = [(os.path.abspath(each.path), each.label) for each in list_samples(dataset)]
    except DataError:
        return "no data"
    if not preview:
        return "nothing found"
    namespace: dict[str, Any] = {"__name__": "exported"}
    for target in ("script", "pytorch"):
        with contextlib.suppress(GraphExportError):
            graph = with_datasets(load_recipe("rotate-jitter"), {"data": dataset})
            exec(export(graph, target, data=dataset).main.text, namespace)
            assert layout_read_by_dali(namespace, dataset) == preview, (seed, kind, target)
    for target in ("torchvision", "albumentations"):
        listed = without_dali(target, dataset)
        assert listed is None or listed == preview, (seed, kind, target)
        assert listed is not None or kind != "folder", (seed, kind, target)
    if kind == "folder":
        told = " ".join(describe_not_read(dataset))
        for name in unread(folder, preview):
            assert name in told or " more." in told, (seed, name, told)
    return kind


def unread(folder: Path, preview: Found) -> Iterator[str]:
    read = {path for path, _ in preview}
    for path in folder.rglob("*"):
        first = path.relative_to(folder).parts[0]
        hidden = first.startswith(".") or first in ("__MACOSX", "@eaDir")
        if path.suffix.lower() in ENDINGS and str(path) not in read and path.is_file():
            yield f"{first}/" if hidden and path.parent != folder else path.name


def run(seeds: range, folder: Path, photos: Path) -> Counter[str]:
    for module in ("torchvision", "albumentations"):
        pytest.importorskip(module)
    found: Counter[str] = Counter()
    for seed in seeds:
        (folder / str(seed)).mkdir()
        found[compare(seed, folder / str(seed), photos)] += 1
        shutil.rmtree(folder / str(seed))
    return found


def test_some_layouts_are_read_alike_everywhere(tmp_path: Path, endings: Path) -> None:
    found = run(range(20), tmp_path, endings)
    assert found.total() == 20
    assert len(found) > 3


@pytest.mark.thorough
def test_layouts_are_read_alike_everywhere(tmp_path: Path, endings: Path) -> None:
    found = run(range(300), tmp_path, endings)
    assert found.total() == 300
    assert set(KINDS) <= found.keys()
