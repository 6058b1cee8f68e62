"""Images that are no files: every form, in the order of DALI's reader, bit for bit."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.helpers import arrays_of, import_script, same, script_batches
from tests.sources.in_memory import BATCH, COUNT, FORMS, PIXELS, Photos, a_graph, png
from tests.sources.written import read_photos
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.build.in_process_loader import make_loader
from workbench.engine.run.runner import Runner
from workbench.errors import DataError, GraphEditError, GraphExportError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import Document
from workbench.health import check_folder, scan_folder
from workbench.preview.verify import Verifier
from workbench.sources import Dataset, class_names, list_samples, open_dataset, require_dataset
from workbench.sources.kinds.memory import ImageBatches, encode_image, split_row
from workbench.sources.kinds.stored_images.image_store import _remove_abandoned
from workbench.ui.export.cell_source import cell_source

LABELLED = ("labels", "pairs", "tensors", "table", "frame")
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_its_pixels_and_labels(form: str) -> None:
    dataset = open_dataset(FORMS[form]())
    require_dataset(dataset)
    found = list(list_samples(dataset))
    assert [each.name for each in found] == [str(number) for number in range(COUNT)]
    for sample, pixels in zip(found, PIXELS, strict=True):
        with sample.with_location().open() as file, Image.open(file) as image:
            if form == "PIL palette":
                pixels = np.asarray(Image.fromarray(pixels).convert("P").convert("RGB"))
            assert np.array_equal(np.asarray(image), pixels)
    labels = [each.with_location().label for each in found]
    if form == "map-style data set":
        assert class_names(dataset) == ["cat", "dog"]
        assert labels == [number % 2 for number in range(COUNT)]
    else:
        assert labels == (list(range(COUNT)) if form.endswith(LABELLED) else [0] * COUNT) or (
            form.startswith(LABELLED)
        )


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF"])
def test_an_opened_pil_image_is_turned_as_its_bytes_are(form: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    buffer = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(buffer, form, exif=exif)
    opened = Image.open(buffer)
    expected = decode_with_pillow(buffer.getvalue())
    with Image.open(io.BytesIO(encode_image(opened))) as image:
        assert np.array_equal(np.asarray(image), expected)
    changed = opened.convert("L")  # it keeps the tag, and the pixels may have been turned by hand
    with Image.open(io.BytesIO(encode_image(changed))) as image:
        assert np.array_equal(np.asarray(image), np.asarray(changed))


@pytest.mark.parametrize("form", one_in(8, FORMS))
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
    with pytest.raises(DataError, match=r"indices .*: 3, 7, 10"):
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


def test_a_label_that_is_no_integer_ends_the_run_with_its_sample() -> None:
    class Labelled(Photos):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)[0], float(index) / 2

    graph = wb.read(Labelled()).decode().resize(size=(8, 8))
    with pytest.raises(DataError, match="Sample 1 of Labelled: its label is"):
        graph.batch(0)
    with pytest.raises(DataError, match="Sample 1 of Labelled: its label is"):
        list(wb.loader(graph, library="numpy"))


def test_an_empty_image_is_named_by_its_index() -> None:
    """By an exported program too, in which DALI alone would only name the decoder."""
    rows = [(png(each), 1) for each in PIXELS]
    rows[2] = (b"", 1)
    dataset = open_dataset(rows)
    (bad,) = check_folder(dataset, full=False).bad
    assert (bad.file, bad.reason) == ("2", "it is empty: it has no bytes")
    batches = ImageBatches(rows, BATCH, {})
    with pytest.raises(ValueError, match=r"sample 2: it is empty\. Use the bytes of an image"):
        batches(SimpleNamespace(iteration=0))


def test_the_data_panel_counts_without_reading_all() -> None:
    facts = scan_folder(open_dataset((PIXELS, np.arange(COUNT))))
    assert (facts.count, facts.formats) == (COUNT, {"PNM": COUNT})
    assert facts.largest == (50, 40)
    assert facts.megabytes == round(sum(map(len, map(bytes, PIXELS))) / 1e6, 3)
    data = Photos()
    data.targets = [0, 1] * 5 + [1]  # type: ignore[attr-defined]
    assert scan_folder(open_dataset(data)).class_counts == {"cat": 5, "dog": 6}


@pytest.mark.parametrize("label", [3.0, np.float32(3), np.array([3.0])])
def test_a_whole_float_is_a_label(label: object) -> None:
    """As pandas makes them of a column that has had missing values."""
    assert split_row(("photo.jpg", label)) == ("photo.jpg", 3)


@pytest.mark.parametrize("label", [0.5, float("nan"), float("inf"), np.array([1.0, 2.0])])
def test_other_floats_are_none(label: object) -> None:
    with pytest.raises(ValueError, match=r"classes (numbered )?from 0"):
        split_row(("photo.jpg", label))


# Images stored by a process: when they are requested, and how long they are stored.


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


# Programs that read images in memory: what they are given, and what a shell names.


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


def test_no_cell_can_write_the_images_down() -> None:
    dataset = open_dataset(PIXELS)
    with pytest.raises(
        GraphEditError, match=r"array \(11, 40, 50, 3\)\) cannot be written in a cell"
    ):
        cell_source({"data": dataset}, Document(load_recipe("rotate-jitter")))


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("tensorflow", "reader: this node reads data with Python"),
        ("dynamic", "reader: DALI's dynamic mode has no reader like read_images"),
    ],
)
def test_where_python_cannot_go_is_said(target: str, words: str) -> None:
    with pytest.raises(GraphExportError, match=words):
        export(a_graph(PIXELS), target, load_catalog())


@pytest.mark.parametrize("target", ["script", "pytorch", "lightning", "paddle", "ray"])
def test_programs_say_what_they_take(target: str) -> None:
    with_ = "training" if target in ("pytorch", "lightning") else ""
    text = export(a_graph(PIXELS), target, load_catalog(), with_=with_).main.text
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


@pytest.mark.thorough
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
        (
            "own_data:floats",
            "own_data:floats: The array (2, 4, 4, 3) of float64 has values from 0 to 0",
        ),
        ("own_data:broken", "own_data:broken returned no data: KeyError: 'no such folder'"),
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
