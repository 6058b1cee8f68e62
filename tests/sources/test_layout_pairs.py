"""Random layouts of data: preview, script and exports without DALI read the same files and labels.

Where they would not, the export is refused or the difference is named.
"""

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
from PIL import Image

from workbench.emit.targets import export
from workbench.errors import DataError, GraphExportError
from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.sources import (
    Dataset,
    describe_not_read,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
)

KINDS = ("folder", "pillow_images", "file_list", "list", "frame", "named list")
NAMES = ("bee", "Cat", "ant", "10", "9", "été", "a b", ".git", "__MACOSX", "@eaDir", "._x", "[a]")
FILES = (
    *("0.png", "1.PNG", "2.jpg", "3.JPEG", "4.webp", "5.ppm", "6.bmp", "7.tif", "a b.png"),
    *("._0.png", ".hidden.jpg", "Thumbs.db", "notes.txt", "8.gif", "inner/9.png", "10.png"),
)

Found = list[tuple[str, int]]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def read_by_dali(namespace: dict[str, Any], dataset: Dataset) -> Found:
    """What DALI reads with the arguments of the exported script, in its order."""
    from nvidia.dali import fn, pipeline_def

    kind = load_source(dataset.kind)
    find = namespace.get(kind.find.__name__)
    argument = kind.directly(dataset)
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
    """What the exported loader lists; None where the export is refused."""
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
            assert read_by_dali(namespace, dataset) == preview, (seed, kind, target)
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


def test_some_layouts_are_read_alike_everywhere(tmp_path: Path, photos: Path) -> None:
    found = run(range(20), tmp_path, photos)
    assert found.total() == 20
    assert len(found) > 3


@pytest.mark.thorough
def test_layouts_are_read_alike_everywhere(tmp_path: Path, photos: Path) -> None:
    found = run(range(300), tmp_path, photos)
    assert found.total() == 300
    assert set(KINDS) <= found.keys()
