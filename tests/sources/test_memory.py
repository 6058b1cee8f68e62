"""Images that are no files: every form, in the order of DALI's reader, bit for bit."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.helpers import arrays_of, same, script_batches
from tests.sources.in_memory import BATCH, COUNT, FORMS, PIXELS, Photos, a_graph, png
from tests.sources.written import read_photos
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.catalog.own_operators.python_decoder import decode_with_pillow
from workbench.engine import Engine
from workbench.engine.run.runner import Runner
from workbench.errors import DataError
from workbench.health import check_folder, scan_folder
from workbench.preview.verify import Verifier
from workbench.sources import class_names, list_samples, open_dataset, require_dataset
from workbench.sources.kinds.memory import ImageBatches, encode_image, split_row

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


def test_an_empty_image_is_named_by_its_index() -> None:
    """By an exported program too, in which DALI would say of which decoder it is alone."""
    rows = [(png(each), 1) for each in PIXELS]
    rows[2] = (b"", 1)
    dataset = open_dataset(rows)
    (bad,) = check_folder(dataset, full=False).bad
    assert (bad.file, bad.reason) == ("2", "it is empty: it has no bytes")
    batches = ImageBatches(rows, BATCH, {})
    with pytest.raises(ValueError, match="sample 2: it is empty: give the bytes of an image"):
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
    with pytest.raises(ValueError, match="number the classes from 0"):
        split_row(("photo.jpg", label))
