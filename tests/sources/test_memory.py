"""Images that are no files: every form, what is wrong with others, and what reaches the worker."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import arrays_of, import_script, same, script_batches
from tests.sources.written import read_photos, write_parquet
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.kernel_program import make_loader
from workbench.engine.runner import Runner
from workbench.errors import DataError, GraphEditError, GraphExportError
from workbench.graph import load_recipe
from workbench.graph.dataset_parameters import with_datasets
from workbench.graph.edit import set_setting
from workbench.graph.layout import Document
from workbench.graph.model import Graph
from workbench.health import check_folder, scan_folder
from workbench.preview.verify import Verifier
from workbench.sources import (
    Dataset,
    class_names,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)
from workbench.sources._image_store import _remove_abandoned
from workbench.sources.memory import ImageBatches
from workbench.ui.cell_source import cell_source

COUNT, BATCH = 11, 4
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)
random = np.random.default_rng(5)
PIXELS = random.integers(0, 256, (COUNT, 40, 50, 3)).astype(np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


class Photos:
    """A data set as people write them for PyTorch; it notes what it was asked for."""

    classes = ("cat", "dog")

    def __init__(self, broken: int = -1) -> None:
        self.asked: list[int] = []
        self._broken = broken

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Image.Image, int]:
        self.asked.append(index)
        if index == self._broken:
            raise KeyError(f"no photo {index}")
        return Image.fromarray(PIXELS[index]), index % 2


class Stream:
    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return iter(PIXELS)


class Loader(Stream):
    dataset, batch_size = PIXELS, 4


def tensor() -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.moveaxis(PIXELS, 3, 1).copy())


def tensor_set() -> Any:
    torch = pytest.importorskip("torch")
    return torch.utils.data.TensorDataset(tensor(), torch.arange(COUNT))


def arrow() -> Any:
    rows = [{"bytes": png(each), "path": "a.png"} for each in PIXELS]
    return pytest.importorskip("pyarrow").table({"image": rows, "label": range(COUNT)})


def frame(library: str) -> Any:
    columns = {"Image": [png(each) for each in PIXELS], "label": list(range(COUNT))}
    return pytest.importorskip(library).DataFrame(columns)


FORMS: dict[str, Callable[[], Any]] = {
    "array": lambda: PIXELS,
    "images and labels": lambda: (PIXELS, np.arange(COUNT)),
    "list of arrays": lambda: list(PIXELS),
    "pairs": lambda: [(each, number) for number, each in enumerate(PIXELS)],
    "encoded": lambda: [png(each) for each in PIXELS],
    "encoded with labels": lambda: [(png(each), number) for number, each in enumerate(PIXELS)],
    "PIL": lambda: [Image.fromarray(each) for each in PIXELS],
    "PIL palette": lambda: [Image.fromarray(each).convert("P") for each in PIXELS],
    "rows of Hugging Face": lambda: [{"image": {"bytes": png(e), "path": None}} for e in PIXELS],
    "map-style data set": Photos,
    "tensor": tensor,
    "data set of tensors": tensor_set,
    "table of Arrow": arrow,
    "frame of pandas": lambda: frame("pandas"),
    "frame of Polars": lambda: frame("polars"),
}
LABELLED = ("labels", "pairs", "tensors", "table", "frame")


def a_graph(data: Any, *, shuffled: bool = True, batch_size: int = BATCH) -> Graph:
    graph = load_recipe("rotate-jitter")
    (reader,) = graph.sources
    reader = replace(reader, args={"random_shuffle": shuffled, "initial_fill": 16})
    nodes = tuple(reader if node.id == reader.id else node for node in graph.nodes)
    settings = replace(graph.settings, batch_size=batch_size)
    return with_datasets(replace(graph, nodes=nodes, settings=settings), open_datasets(data))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_its_pixels_and_labels(form: str) -> None:
    dataset = open_dataset(FORMS[form]())
    require_dataset(dataset)
    found = list(list_samples(dataset))
    assert [each.name for each in found] == [str(number) for number in range(COUNT)]
    for sample, pixels in zip(found, PIXELS, strict=True):
        with sample.placed().open() as file, Image.open(file) as image:
            if form == "PIL palette":
                pixels = np.asarray(Image.fromarray(pixels).convert("P").convert("RGB"))
            assert np.array_equal(np.asarray(image), pixels)
    labels = [each.placed().label for each in found]
    if form == "map-style data set":
        assert class_names(dataset) == ["cat", "dog"]
        assert labels == [number % 2 for number in range(COUNT)]
    else:
        assert labels == (list(range(COUNT)) if form.endswith(LABELLED) else [0] * COUNT) or (
            form.startswith(LABELLED)
        )


@pytest.mark.parametrize(
    "form", [form if number % 4 == 0 else pytest.param(form, marks=pytest.mark.thorough)
             for number, form in enumerate(FORMS)],
)  # fmt: skip
def test_the_preview_is_the_script_to_batch_seven(form: str, engine: Engine) -> None:
    dataset = open_dataset(FORMS[form]())
    found = Verifier(a_graph(dataset), dataset, 8, engine=engine).run()
    assert found.exact, found.lines()


def test_the_same_photos_give_the_bits_of_the_folder(photos: Path, tmp_path: Path) -> None:
    dataset = open_dataset(read_photos(photos))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    found = script_batches(a_graph(dataset, shuffled=False), dataset.argument, 3, ours)
    wanted = script_batches(a_graph(photos, shuffled=False), photos, 3, theirs)
    for one, other in zip(found, wanted, strict=True):
        assert all(same(mine, yours) for mine, yours in zip(one, other, strict=True))


def test_the_names_in_a_preview_are_indices() -> None:
    dataset = open_dataset(list(PIXELS))
    graph = a_graph(dataset)
    (reader,) = graph.sources
    found = Runner(load_catalog()).run(graph, dataset, 1, BATCH, [graph.outputs["images"]])
    batches = ImageBatches(dataset.argument, BATCH, {"seed": 42, "random_shuffle": True})
    assert reader.seed == 0
    assert [each.file for each in found.samples] == [str(at) for at in batches.indices(1)]


def reader_order(folder: Path, batch_size: int, options: dict[str, Any], count: int) -> list[int]:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=batch_size, num_threads=1, device_id=None)
    def read() -> Any:
        files = [str(folder / f"{number}.png") for number in range(COUNT)]
        return fn.readers.file(files=files, **options)[1]

    pipe = read()
    pipe.build()
    return [int(np.asarray(label)[0]) for _ in range(count) for label in arrays_of(pipe.run()[0])]


@pytest.mark.parametrize("pad", [False, True])
@pytest.mark.parametrize("shards", [1, 2, 3, 4])
@pytest.mark.parametrize("batch_size", [1, 3, 4, 16])
def test_the_order_is_that_of_the_file_reader(
    tmp_path: Path, pad: bool, shards: int, batch_size: int
) -> None:
    for number, pixels in enumerate(PIXELS):
        (tmp_path / f"{number}.png").write_bytes(png(pixels))
    for shard in range(shards):
        options = {"shard_id": shard, "num_shards": shards, "pad_last_batch": pad}
        batches = ImageBatches(list(PIXELS), batch_size, options)
        found = [at for batch in range(9) for at in batches.indices(batch)]
        assert found == reader_order(tmp_path, batch_size, options, 9)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_shuffled_shards_lose_no_sample_and_double_none(shards: int) -> None:
    orders = set()
    for epoch in range(3):
        seen: list[int] = []
        for shard in range(shards):
            seed = 7 + 100_000 * shard  # as in the exported code: shards draw apart
            options = {"seed": seed, "random_shuffle": True}
            options |= {"num_shards": shards, "shard_id": shard}
            padded = ImageBatches(list(PIXELS), BATCH, {**options, "pad_last_batch": True})
            most = -(-COUNT // shards)
            batches = range(epoch * -(-most // BATCH), (epoch + 1) * -(-most // BATCH))
            given = [at for batch in batches for at in padded.indices(batch)]
            turn = (shard + epoch) % shards
            seen += given[: COUNT * (turn + 1) // shards - COUNT * turn // shards]
        assert sorted(seen) == list(range(COUNT))
        orders.add(tuple(seen))
    assert len(orders) == 3


@pytest.mark.thorough
def test_of_pipelines_side_by_side_every_image_comes_once() -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    data = {"data": open_dataset(FORMS["pairs"]())}
    graph = set_setting(a_graph(data["data"]), pipelines=2)
    report = Verifier(graph, data, 100, target="pytorch").run()
    assert report.lines() == [f"identical: {COUNT} of {COUNT}"]
    batches = make_loader(graph, data, "torch")
    images = [image.numpy().tobytes() for batch in batches for image in batch[0]]
    assert len(set(images)) == len(images) == COUNT


def test_the_pytorch_loader_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    dataset = open_dataset(FORMS["pairs"]())
    module = import_script(export(a_graph(dataset), "pytorch", load_catalog()).main.text, tmp_path)

    def labels(loader: Any, most: int) -> list[list[int]]:
        return [batch["labels"].tolist() for _, batch in zip(range(most), loader, strict=False)]

    whole = module.Loader(module.build_pipeline(dataset.argument))
    epochs = [labels(whole, 9) for _ in range(3)]
    assert all(sorted(chain.from_iterable(epoch)) == list(range(COUNT)) for epoch in epochs)
    first = module.Loader(module.build_pipeline(dataset.argument, resumable=True))
    assert labels(first, 9) == epochs[0]
    resumed = module.build_pipeline(dataset.argument, resumable=True, checkpoint=first.checkpoint())
    again = module.Loader(resumed)
    assert [labels(again, 9), labels(again, 9)] == epochs[1:]


def test_a_program_is_given_the_data_set_itself_too(tmp_path: Path) -> None:
    dataset = open_dataset(PIXELS)
    (ours,) = script_batches(a_graph(dataset), dataset.argument, 1, tmp_path)
    module = import_script(export(a_graph(dataset), "script").main.text, tmp_path)
    (images, _) = module.build_pipeline(PIXELS).run()
    assert same(arrays_of(images), ours[0])


def not_a_number() -> NDArray[np.float32]:
    array = np.zeros((2, 4, 4, 3), np.float32)
    array[1, 2, 3, 0] = np.nan
    return array


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PIXELS / 255, r"float64 goes from 0 to 1. Give uint8: \(255 \* array\).round\(\).astype"),
        (PIXELS.astype(np.float32), r"goes from 0 to 255. Give uint8: array.clip"),
        (not_a_number(), "float32 holds NaN, which is no pixel"),
        (PIXELS.astype(object), "holds Python objects. Give a list of arrays"),
        (PIXELS.astype(np.int64), "is no uint8. Give values from 0 to 255"),
        (np.moveaxis(PIXELS, 3, 1), r"channels first. Give them last: array.transpose\(0, 2, 3, 1"),
        (np.zeros((2, 4, 4, 5), np.uint8), r"5 channels, and images have 1 or 3. Give array\[...,"),
        (np.zeros((2, 4, 4, 2), np.uint8), "2 channels, and images have 1 or 3. Give 1 or 3"),
        (PIXELS[:0], r"array \(0, 40, 50, 3\) of uint8 has no images"),
        (np.zeros((2, 0, 4, 3), np.uint8), "has no pixels"),
        (PIXELS[0], r"is one image. Give several: a list, or array\[None\]"),
        (PIXELS[0, :, :, 0], r"is one image. Give several: a list, or array\[None, ..., None\]"),
        (PIXELS[..., 0], r"no axis of channels at its end. Give array\[..., None\]"),
        (np.moveaxis(PIXELS[0], 2, 0), r"array.transpose\(1, 2, 0\)\[None\]"),
        (np.zeros(7, np.uint8), "no batch of images"),
        (PIXELS[None], "no batch of images"),
        ([PIXELS[0], PIXELS[1] / 255], "Item 1, an array .* of float64, goes from 0 to"),
        ([PIXELS[0], np.moveaxis(PIXELS[1], 2, 0)], "Item 1, .* has its channels first"),
        ([PIXELS[0], PIXELS[1][..., 0]], "Item 1 has 1 channel, and item 0 3"),
        ([PIXELS[0], None], r"Item 1 is None \(NoneType\), which is no image"),
        ([PIXELS[0], "a.jpg"], "Item 1 is a path among images"),
        ([(PIXELS[0], 1), (PIXELS[1], "cat")], "Item 1: its label is 'cat': number the classes"),
        ([(PIXELS[0], 2**31)], "Item 0: its label is 2147483648, more than 32 bits hold"),
        ([(PIXELS[0], 1, 2)], "Item 0: it has 3 parts"),
        ([PIXELS], "Item 0, an array .* is no image"),
        ([{"picture": b""}], "Item 0: it has picture, but no image: name that column image"),
        ((PIXELS, np.arange(3)), "11 images and 3 labels"),
        ((PIXELS[0], 3), "one image with its label. Give a list"),
        (png(PIXELS[0]), "bytes is one image"),
        (Image.fromarray(PIXELS[0]), "Image is one image"),
        (Stream(), "A Stream gives its images one after the other: it cannot be shuffled"),
        (Loader(), "A Loader gives batches, in its own order. Give its data set"),
        ({3}, "A set gives its images one after the other"),
        (3, "int is no data to read"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_remedy(data: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        open_dataset(data)
    assert str(caught.value).endswith((".", "]"))


def test_an_iterable_data_set_of_pytorch_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Endless(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[int]:
            return iter(())

    with pytest.raises(DataError, match="one after the other"):
        open_dataset(Endless())


def test_a_data_set_without_images_is_refused_by_its_first_sample() -> None:
    class Numbers(Photos):
        def __getitem__(self, index: int) -> Any:
            return np.zeros((3, 8, 8), np.float32), 0

    with pytest.raises(DataError, match="Sample 0 of the Numbers: its pixels are float32"):
        open_dataset(Numbers())


def test_nothing_is_read_before_it_is_wanted(engine: Engine) -> None:
    data = Photos()
    dataset = open_dataset(data)
    assert set(data.asked) == {0}
    assert len(list(list_samples(dataset))) == COUNT
    assert set(data.asked) == {0}
    found = Runner(load_catalog()).run(
        graph := a_graph(dataset, batch_size=2), dataset, 0, 2, [graph.outputs["images"]]
    )
    assert len(found.samples) == 2
    assert len(set(data.asked)) <= 1 + 2 * 4  # what DALI reads ahead, too
    again = len(data.asked)
    Runner(load_catalog()).run(graph, dataset, 0, 2, [graph.outputs["images"]])
    assert len(data.asked) == again


def test_bad_images_are_named_counted_and_left_out(engine: Engine) -> None:
    encoded = [png(each) for each in PIXELS]
    encoded[3], encoded[7], encoded[-1] = b"", b"no picture", encoded[-1][:60]
    dataset = open_dataset(encoded)
    found = check_folder(dataset)
    assert [one.file for one in found.bad] == ["3", "7", "10"]
    verified = Verifier(a_graph(dataset), dataset, 3, engine=engine).run()
    assert verified.exact, verified.lines()
    assert [one.file for one in verified.left_out] == ["3", "7", "10"]
    report = Benchmark(a_graph(dataset), dataset, ["cpu"], measurement_config=SHORT).run()
    assert len(report.left_out) == 3
    assert report.best
    with pytest.raises(DataError, match="by index: 3, 7, 10"):
        found.write_good("good")


def test_a_sample_that_cannot_be_had_is_one_bad_tile(engine: Engine) -> None:
    dataset = open_dataset(Photos(broken=4))
    graph = a_graph(dataset, shuffled=False, batch_size=8)
    found = Runner(load_catalog()).run(graph, dataset, 0, 8, [graph.outputs["images"]])
    assert {each.file: each.error for each in found.samples if each.error} == {
        "4": "KeyError: 'no photo 4'"
    }
    verified = Verifier(graph, dataset, 2, engine=engine).run()
    assert verified.exact, verified.lines()
    assert [one.file for one in verified.left_out] == ["4"]


def test_the_data_panel_counts_without_reading_all() -> None:
    facts = scan_folder(open_dataset((PIXELS, np.arange(COUNT))))
    assert (facts.count, facts.formats) == (COUNT, {"PNM": COUNT})
    assert facts.largest == (50, 40)
    assert facts.megabytes == round(sum(map(len, map(bytes, PIXELS))) / 1e6, 1)
    data = Photos()
    data.targets = [0, 1] * 5 + [1]  # type: ignore[attr-defined]
    assert scan_folder(open_dataset(data)).class_counts == (5, 6)


def test_what_is_kept_goes_with_the_dataset() -> None:
    dataset = open_dataset(PIXELS)
    (folder,) = (str(place) for place, _ in dataset.items)
    copy = replace(dataset, title="mine")
    assert (os.stat(folder).st_mode & 0o777) == 0o700
    del dataset
    gc.collect()
    assert os.path.isdir(folder)
    del copy
    gc.collect()
    assert not os.path.exists(folder)
    gone = Dataset("memory", items=((folder, COUNT),), title="mine")
    with pytest.raises(DataError, match="mine: the process that held these images has ended"):
        require_dataset(gone)


def test_what_a_killed_process_left_is_removed() -> None:
    program = (
        "import os, numpy as np\nfrom workbench.sources import open_dataset\n"
        "d = open_dataset(np.zeros((1, 4, 4, 3), np.uint8))\n"
        "print(d.items[0][0], flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    folder = done.stdout.strip()
    assert os.path.isdir(folder)
    _remove_abandoned()
    assert not os.path.exists(folder)


def test_no_cell_can_write_the_images_down() -> None:
    dataset = open_dataset(PIXELS)
    with pytest.raises(
        GraphEditError, match=r"array \(11, 40, 50, 3\), are objects of this kernel"
    ):
        cell_source({"data": dataset}, Document(load_recipe("rotate-jitter")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("tensorflow", "reader: it reads with Python"),
        ("dynamic", "reader: DALI's dynamic mode does not read as read_images"),
    ],
)
def test_where_python_cannot_go_is_said(target: str, words: str) -> None:
    with pytest.raises(GraphExportError, match=words):
        export(a_graph(PIXELS), target, load_catalog())


@pytest.mark.parametrize("target", ["script", "pytorch", "jax", "lightning", "paddle", "ray"])
def test_programs_say_what_they_take(target: str) -> None:
    text = export(a_graph(PIXELS), target, load_catalog()).main.text
    assert "--data MODULE:FACTORY" in text
    assert text.count("import numpy as np\n") == 1
    assert "abspath(args.data)" not in text
    assert "py_num_workers=WORKERS" in text


def test_a_served_model_takes_requests_in_its_place() -> None:
    assert "read_images" not in export(a_graph(PIXELS), "triton", load_catalog()).main.text


DRIVER = """
import numpy as np
from pipe import build_pipeline

if __name__ == "__main__":
    pipe = build_pipeline("own_data:photos", batch_size=4)
    for _ in range(6):
        for output in pipe.run():
            for sample in output:
                print(np.asarray(sample).astype(int).sum())
"""


@pytest.mark.thorough
def test_further_processes_give_the_same_batches(factory: Path) -> None:
    run("export", "rotate-jitter", "--data", "own_data:photos", "-o", "pipe.py")
    (factory / "driver.py").write_text(DRIVER)
    printed = []
    for workers in (0, 2):
        text = (factory / "pipe.py").read_text()
        (factory / "pipe.py").write_text(text.replace("WORKERS = 0", f"WORKERS = {workers}"))
        done = subprocess.run([sys.executable, "driver.py"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout)
    assert printed[0] == printed[1] != ""


FACTORY = """
import numpy as np

def photos():
    random = np.random.default_rng(0)
    return [(random.integers(0, 256, (40, 50, 3)).astype(np.uint8), n % 3) for n in range(11)]

def floats():
    return np.zeros((2, 4, 4, 3))

def broken():
    raise KeyError("no such folder")
"""


@pytest.fixture
def factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_data.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> str:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", one_in(2, ["own_data:photos", "own_data.py:photos"]))
def test_the_shell_names_a_factory(factory: Path, name: str) -> None:
    done = run("verify", "rotate-jitter", "--data", name, "--batches", "2")
    assert done.endswith("identical: 128 of 128\n")
    run("export", "rotate-jitter", "--data", name, "-o", "pipe.py")
    program = [sys.executable, "pipe.py", "--batches", "2", "--batch-size", "4", "--data"]
    ran = subprocess.run([*program, name], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith("imgs/s\n")
    refused = subprocess.run([*program, "photos"], capture_output=True, text=True)
    assert "'photos' is no module:factory: name a function" in refused.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("own_data:floats", "own_data:floats: The array (2, 4, 4, 3) of float64 goes from 0 to 0"),
        ("own_data:broken", "own_data:broken gives no data: KeyError: 'no such folder'"),
        ("own_data:nothing", "has no attribute 'nothing'"),
        ("no_such_module:photos", "ModuleNotFoundError"),
    ],
)
def test_a_factory_that_gives_no_images_is_told(factory: Path, name: str, words: str) -> None:
    done = CliRunner().invoke(main, ["verify", "rotate-jitter", "--data", name])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_a_factory_is_called_where_a_command_names_it_alone(factory: Path) -> None:
    (factory / "own_data.py").write_text("raise SystemExit('it was run')")
    dataset = open_dataset("own_data:photos")
    assert dataset.kind == "folder"
    with pytest.raises(DataError):
        require_dataset(dataset)


def test_a_parquet_file_shows_no_other_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "secret.png").write_bytes(png(PIXELS[0]))
    rows = [{"bytes": None, "path": str(tmp_path / "secret.png")}]
    parquet.write_table(pyarrow.table({"image": rows}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a.parquet has image.bytes, image.path, and no column"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    parquet.write_table(pyarrow.table({"image": ["/a.png"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has image, and no column of encoded images"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"b.parquet cannot be read as Parquet"):
        require_dataset(open_dataset(tmp_path / "b.parquet"))
    whole = write_parquet([(png(each), 3) for each in PIXELS], tmp_path / "c")
    assert [each.label for each in list_samples(open_dataset(whole))] == [3] * COUNT
