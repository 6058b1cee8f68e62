from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import same, script_batches
from tests.sources.written import write_arrays, write_volumes
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.file_checks.usable_data import UsableData
from workbench.errors import DataError, GraphExportError, PipelineError
from workbench.graph import load_recipe
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port, Settings, Source
from workbench.health import check_folder, scan_folder
from workbench.preview import preview_batch
from workbench.preview.pictures.pixels import read_pixels
from workbench.preview.request import PreviewRequest
from workbench.preview.requests.render import render
from workbench.sources import (
    class_names,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)

BATCH = 5
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module")
def arrays(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_arrays(photos, tmp_path_factory.mktemp("arrays"))


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_volumes(tmp_path_factory.mktemp("volumes"))


def a_recipe(name: str = "rotate-jitter", *, shuffled: bool = True) -> Graph:
    graph = load_recipe(name)
    (reader,) = graph.sources
    reader = replace(reader, args={**reader.args, "random_shuffle": shuffled})
    nodes = tuple(reader if node.id == reader.id else node for node in graph.nodes)
    return replace(graph, nodes=nodes, settings=replace(graph.settings, batch_size=BATCH))


def slices(**options: Any) -> Graph:
    """Volumes as sequences of slices, turned by one angle each, and their labels."""
    reader = Source("reader", "readers.numpy", {"random_shuffle": True, **options}, seed=0)
    reader = replace(reader, kind="numpy_files")
    angle = Node("angle", "random.uniform", {"range": (-30, 30)}, seed=1)
    turned = {"data": Port("reader", "images"), "angle": Port("angle", "output")}
    rotate = Node("rotate", "rotate", {"keep_size": True, "fill_value": 0}, turned)
    return Graph(
        nodes=(reader, angle, rotate),
        outputs={"images": Port("rotate", "output"), "labels": Port("reader", "labels")},
        settings=Settings(batch_size=4, num_threads=2),
    )


def as_read(graph: Graph) -> Graph:
    ports = {"images": Port("reader", "images"), "labels": Port("reader", "labels")}
    return replace(graph, outputs=ports)


def test_a_recipe_that_decodes_reads_arrays_without_its_decoder(arrays: Path) -> None:
    graph = a_recipe()
    opened = with_datasets(graph, open_datasets(str(arrays)))
    assert [node.op for node in graph.nodes if node.op.startswith("decoders")]
    assert not [node.op for node in opened.nodes if node.op.startswith("decoders")]
    assert opened.sources[0].kind == "numpy_files"
    assert not check_graph(opened, load_catalog())
    assert with_datasets(opened, open_datasets(str(arrays))) == opened


def test_a_folder_in_the_place_of_arrays_is_decoded_again(arrays: Path, photos: Path) -> None:
    graph = a_recipe()
    opened = with_datasets(graph, open_datasets(str(arrays)))
    back = with_datasets(opened, open_datasets(str(photos)))
    assert back.outputs == graph.outputs
    assert [node.op for node in back.nodes] == [node.op for node in graph.nodes]
    assert not check_graph(back, load_catalog())


def test_the_same_photos_give_the_same_bits(arrays: Path, photos: Path, tmp_path: Path) -> None:
    graph = a_recipe(shuffled=False)
    decoded = with_datasets(graph, open_datasets(str(photos)))
    found = script_batches(with_datasets(graph, open_datasets(str(arrays))), arrays, 2, tmp_path)
    (tmp_path / "theirs").mkdir()
    wanted = script_batches(decoded, photos, 2, tmp_path / "theirs")
    for one, other in zip(found, wanted, strict=True):
        assert same(one[0], other[0])
        assert same(one[1], other[1])


def test_labels_stay_with_their_arrays_when_shuffled(volumes: Path, tmp_path: Path) -> None:
    for number, options in enumerate(
        (
            {},
            {"random_shuffle": False, "shuffle_after_epoch": True},
            {"num_shards": 2, "shard_id": 1, "pad_last_batch": True, "initial_fill": 2},
        )
    ):
        place = tmp_path / str(number)
        place.mkdir()
        batches = script_batches(as_read(slices(**options)), volumes, 6, place)
        seen = {int(array[0, 0, 0, 0]) for images, _ in batches for array in images}
        assert len(seen) > 1
        for images, labels in batches:
            for array, label in zip(images, labels, strict=True):
                assert label == [int(array[0, 0, 0, 0]) // 100 >= 3]


def test_a_volume_is_a_sequence_of_its_slices(volumes: Path, tmp_path: Path) -> None:
    part = {"roi_axes": (0,), "roi_start": (2,), "roi_shape": (3,), "random_shuffle": False}
    ((images, _),) = script_batches(as_read(slices(**part)), volumes, 1, tmp_path)
    written = np.load(volumes / "a" / "1.npy")
    assert same([images[1]], [written[2:5]])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "float32"])
@pytest.mark.parametrize(
    ("shape", "read"),
    [((9, 11), (9, 11, 1)), ((9, 11, 2), (9, 11, 2)), ((5, 9, 11), (5, 9, 11, 1))],
)
def test_every_sample_has_channels(
    tmp_path: Path, dtype: str, shape: tuple[int, ...], read: tuple[int, ...]
) -> None:
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for order, name in (("C", "0.npy"), ("F", "1.npy")):
        np.save(tmp_path / name, np.asarray(values, order=order))  # type: ignore[call-overload]
    (tmp_path / "work").mkdir()
    graph = as_read(slices(random_shuffle=False))
    ((images, labels),) = script_batches(graph, tmp_path / "0.npy", 1, tmp_path / "work")
    assert same([images[0]], [values.reshape(read)])
    assert labels[0].tolist() == [0]
    assert labels[0].dtype == np.int32


def test_a_tile_shows_the_slices_and_the_closeup_one(volumes: Path, engine: Engine) -> None:
    request = PreviewRequest(slices(random_shuffle=False), str(volumes), tiles=4, tile_size=128)
    result = engine.call(render, request)
    assert [tile.class_name for tile in result.tiles] == ["a", "a", "a", "b"]
    assert result.tiles[1].sample.file == "a/1.npy"
    third = engine.call(read_pixels, request, 1, "reader.images", 0, 0, None, None, 2)
    assert third.size == (32, 24)
    assert same([third.values], [np.load(volumes / "a" / "1.npy")[2]])


def test_dynamic_mode_refuses_with_the_reason() -> None:
    with pytest.raises(GraphExportError, match="has no reader like read_arrays"):
        export(slices(), "dynamic", load_catalog())


def test_the_data_panel_knows_classes_sizes_and_formats(arrays: Path, photos: Path) -> None:
    found, wanted = scan_folder(arrays), scan_folder(photos)
    assert (found.count, found.classes) == (wanted.count, wanted.classes)
    assert (found.smallest, found.largest) == (wanted.smallest, wanted.largest)
    assert found.size_counts == wanted.size_counts
    assert found.formats == {"NPY": wanted.count}
    assert not check_folder(arrays).bad


def test_lists_and_single_files_are_read(volumes: Path, tmp_path: Path) -> None:
    first = volumes / "a" / "0.npy"
    assert open_dataset(first).kind == "numpy_files"
    assert open_dataset([(first, 3)]).kind == "numpy_files"
    text = tmp_path / "list.txt"
    text.write_text(f"{first} 3\n")
    dataset = open_dataset(text)
    assert dataset.kind == "numpy_files"
    assert [sample.label for sample in list_samples(dataset)] == [3]
    assert class_names(open_dataset(volumes)) == ["a", "b"]


def _objects(path: Path) -> None:
    np.save(path, np.array([{}], object), allow_pickle=True)


def _version_2(path: Path) -> None:
    with open(path, "wb") as file:
        np.lib.format.write_array(file, np.zeros((6, 6, 3), np.uint8), version=(2, 0))


def _cut(path: Path) -> None:
    np.save(path, np.zeros((6, 6, 3), np.uint8))
    path.write_bytes(path.read_bytes()[:-10])


def _saved(values: Any) -> Callable[[Path], None]:
    return lambda path: np.save(path, values)


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "objects": (_objects, "pickled objects, which are not opened"),
    "version": (_version_2, "version 2.0 of the format, and DALI reads 1.0"),
    "cut": (_cut, "ends early: 10 bytes"),
    "text": (lambda path: path.write_text("no array") and None, "not a .npy file"),
    "empty_file": (lambda path: path.touch(), "the file is empty|not a .npy file"),
    "scalar": (_saved(np.uint8(3)), r"shape \(\) is neither an image"),
    "line": (_saved(np.zeros(6, np.uint8)), r"shape \(6,\) is neither an image"),
    "nothing": (_saved(np.zeros((0, 6, 3), np.uint8)), "it is empty"),
    "complex": (_saved(np.zeros((6, 6, 3), np.complex64)), "element type complex64"),
    "swapped": (_saved(np.zeros((6, 6, 3), ">f4")), "byte order"),
    "other_type": (_saved(np.zeros((6, 6, 3), np.float32)), "is float32, but that of the first"),
    "other_axes": (_saved(np.zeros((6, 6), np.uint8)), "has 2 axes, but the first array has 3"),
    "volume": (_saved(np.zeros((6, 6, 9), np.uint8)), r"shape is \(6, 6, 9\)"),
}


def test_arrays_that_cannot_be_read_are_named_counted_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    for number in range(8):
        np.save(folder / f"0{number}.npy", np.full((40, 40, 3), number, np.uint8))
    for name, (write, _) in BAD.items():
        write(folder / f"bad_{name}.npy")
    bad = {one.file: one.reason for one in check_folder(folder).bad}
    assert len(bad) == len(BAD)
    for name, (_, words) in BAD.items():
        with pytest.raises(AssertionError, match=words):
            raise AssertionError(bad[f"bad_{name}.npy"])
    usable = UsableData(open_datasets(str(folder)))
    assert usable.exclude_bad(full=True)
    assert len(usable.excluded) == len(BAD)
    kept = open_dataset(usable.datasets["data"].location)
    assert kept.kind == "numpy_files"
    assert len(list(list_samples(kept))) == 8
    usable.close()
    report = Benchmark(a_recipe(), str(folder), ["cpu"], measurement_config=SHORT).run()
    assert len(report.left_out) == len(BAD)
    assert report.best


def test_numbers_that_are_none_are_named_and_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    for number in range(4):
        array = np.full((6, 6, 3), number, np.float32)
        array[: number // 2, 1, 0] = np.nan if number == 2 else np.inf
        np.save(folder / f"{number}.npy", array)
    assert not check_folder(str(folder), full=False).files
    found = check_folder(str(folder), full=True)
    named = {one.file: one.reason for one in found.of_level("damaged")}
    assert named.keys() == {"2.npy", "3.npy"}
    assert named["2.npy"] == "1 of its 108 numbers are NaN or infinite"
    rest = open_dataset(found.write_good(str(tmp_path / "good")))
    assert [each.name for each in list_samples(rest)] == ["../arrays/0.npy", "../arrays/1.npy"]


def test_a_preview_leaves_a_bad_array_out_and_names_it(tmp_path: Path, engine: Engine) -> None:
    for number in range(6):
        np.save(tmp_path / f"{number}.npy", np.zeros((40, 40, 3), np.uint8))
    _cut(tmp_path / "3.npy")
    graph = a_recipe()
    ordered = tuple(
        replace(node, args={**node.args, "random_shuffle": False}) for node in graph.sources
    )
    graph = replace(graph, nodes=(*ordered, *graph.nodes[len(ordered) :]))
    found = engine.call(render, PreviewRequest(graph, str(tmp_path), tiles=4, tile_size=64))
    assert "1 of its samples cannot be read; the first, 3.npy: ends early: 10" in found.note
    assert [tile.sample.file for tile in found.tiles] == ["0.npy", "1.npy", "2.npy", "4.npy"]


def test_an_operator_that_takes_no_such_array_says_so(volumes: Path, engine: Engine) -> None:
    two_channels = PreviewRequest(a_recipe(), str(volumes), tiles=4, tile_size=64)
    with pytest.raises(PipelineError, match="it accepts 3 channels, but gets 2"):
        engine.call(render, two_channels)
    gray = PreviewRequest(a_recipe("medical-gray"), str(volumes), tiles=4, tile_size=64)
    with pytest.raises(PipelineError, match=r"clahe\.data: it accepts .* UINT8, but gets INT16"):
        engine.call(render, gray)


def test_numbers_for_other_channels_than_there_are_say_so(tmp_path: Path, engine: Engine) -> None:
    """The channels of arrays are unknown in the graph, and known when they are read."""
    for number in range(4):
        np.save(tmp_path / f"{number}.npy", np.full((40, 50, 2), number, np.uint8))
    graph = load_recipe("imagenet-train")
    said = "normalize.mean: it has 3 elements, one per channel, but crop.output outputs "
    with pytest.raises(PipelineError) as refused:
        preview_batch(engine, PreviewRequest(graph, str(tmp_path), tiles=4))
    assert str(refused.value) == f"{said}2 channels. Use 2 numbers, or one for all."
    assert refused.value.node == "normalize"
    report = Benchmark(graph, str(tmp_path), ["cpu"], measurement_config=SHORT).run()
    (measured,) = report.measurements
    assert "normalize: the length of its mean or std is not" in measured.reason
    normalize = graph.node("normalize")
    fitting = replace(normalize, args={**normalize.args, "mean": (1.0, 2.0), "std": (3.0,)})
    nodes = tuple(fitting if node is normalize else node for node in graph.nodes)
    request = PreviewRequest(replace(graph, nodes=nodes), str(tmp_path), tiles=4)
    assert "2 channels: the first is shown as grey" in preview_batch(engine, request).note


def test_data_without_an_array_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no array in .*npz"):
        require_dataset(replace(open_dataset(tmp_path), kind="numpy_files"))
    _objects(tmp_path / "a.npy")
    with pytest.raises(
        DataError, match=r"No array of .* can be read\. The first is .*a\.npy: .*pickled"
    ):
        require_dataset(open_dataset(tmp_path))
    with pytest.raises(DataError, match="label of an array is 'cat'"):
        require_dataset(open_dataset([(tmp_path / "a.npy", "cat")]))


def test_the_loop_of_pytorch_turns_arrays_channels_first(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((9, 9, 3), np.uint8))
    graph = with_datasets(load_recipe("rotate-jitter"), open_datasets(str(tmp_path)))
    loader = export(graph, "pytorch", load_catalog(), with_="training").main.text
    assert 'model(batch["images"].permute(0, 3, 1, 2).float())' in loader


def test_an_array_without_pixels_is_left_out_by_name(engine: Engine, tmp_path: Path) -> None:
    """DALI reads it, and an operator behind ends the run."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    for number in range(4):
        np.save(folder / f"{number}.npy", np.zeros((5 * (number != 1), 5, 3), np.uint8))
    shown = preview_batch(engine, PreviewRequest(a_recipe(), str(folder), tiles=3))
    assert "1 of its samples cannot be read; the first, 1.npy: it is empty" in shown.note
    assert len(shown.tiles) == 3
