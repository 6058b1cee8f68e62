"""Samplers: the order of samples that a reader is given, in preview, loaders and exports."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.helpers import import_script, same
from tests.thorough import one_in
from workbench.cli import main
from workbench.emit.targets import export
from workbench.errors import DataError, GraphExportError, WorkbenchError
from workbench.graph import Graph
from workbench.graph.builder import samplers
from workbench.graph.checks.check_samplers import sampler_warnings
from workbench.graph.variants.validation import validation_graph
from workbench.sources.kinds._sampler import Sampler

SIZES = {"cat": 12, "dog": 4, "hen": 3}
"""Images of each class: 19, a prime number, so that no shard and no batch divides them."""
LABELS = [label for label, count in enumerate(SIZES.values()) for _ in range(count)]
COUNT = len(LABELS)
BATCH = 4


@pytest.fixture(scope="module")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images whose grey level is their number in file order."""
    folder = tmp_path_factory.mktemp("animals")
    number = 0
    for name, count in SIZES.items():
        (folder / name).mkdir()
        for _ in range(count):
            Image.new("L", (8, 8), number).save(folder / name / f"{number:02}.png")
            number += 1
    return folder


def graph_of(data: Any, **options: Any) -> Graph:
    graph = wb.read(data, **options).decode().resize(size=(8, 8))
    return graph.with_settings(batch_size=BATCH)


def program(graph: Graph, folder: Path, target: str = "pytorch") -> ModuleType:
    return import_script(export(graph, target, plain=True).main.text, folder)


def numbers(images: Any) -> list[int]:
    return [int(np.asarray(image).flat[0]) for image in images]


def loaded(module: ModuleType, data: Path, epochs: int, **shard: Any) -> list[list[list[int]]]:
    """Image numbers of the batches of each epoch of a loader."""
    build = getattr(module, "build_pipelines", None) or module.build_pipeline
    loader = module.Loader(build(str(data), **shard))
    found = []
    for _ in range(epochs):
        expected = len(loader)
        found.append([numbers(batch["images"]) for batch in loader])
        assert len(found[-1]) == expected
    return found


def sampler(**options: Any) -> Sampler:
    from nvidia.dali import Pipeline

    with Pipeline(BATCH, 1, None):
        return Sampler(COUNT, LABELS, **options)


OPTIONS: list[dict[str, Any]] = [
    {"sampler": "random"},
    {"sampler": "balanced"},
    {"weights": {"dog": 2, "hen": 0}},
    {"weights": np.arange(COUNT)},
    {"sampler": "random", "repeats": 3},
    {"sampler": "random", "indices": [1, 2, 3, 5, 8, 13]},
    {"sampler": "sequential", "indices": [18, 0, 7, 7, 3]},
    {"weights": [1, 1, 2], "replacement": False, "num_samples": 10},
    {"sampler": "balanced", "pad_last_batch": True, "num_samples": 9},
]


@pytest.mark.parametrize("options", one_in(4, OPTIONS), ids=str)
def test_the_preview_is_the_export_bit_for_bit(
    options: dict[str, Any], animals: Path, tmp_path: Path
) -> None:
    graph = graph_of(animals, **options)
    workbench = wb.Workbench(graph)
    pipe = program(graph, tmp_path, "script").build_pipeline(str(animals))
    for number in range(8):
        images, labels = pipe.run()
        batch = workbench.batch(number)
        assert numbers(images) == numbers(batch.images)
        assert numbers(labels) == numbers(batch.labels)
        assert [int(Path(file).stem) for file in batch.files] == numbers(images)


def test_a_padded_preview_is_the_loader_over_epoch_borders(animals: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    graph = graph_of(animals, sampler="balanced", pad_last_batch=True)
    module = program(graph, tmp_path)
    loader = module.Loader(
        module.build_pipeline(str(animals)), last_batch=module.LastBatchPolicy.FILL
    )
    found = [numbers(batch["images"]) for _ in range(2) for batch in loader]
    workbench = wb.Workbench(graph)
    assert found == [numbers(workbench.batch(number).images) for number in range(len(found))]
    partial = [batch for epoch in loaded(module, animals, 2) for batch in epoch]
    assert [len(batch) for batch in partial] == [4, 4, 4, 4, 3] * 2
    assert all(part == whole[: len(part)] for part, whole in zip(partial, found, strict=True))
    dropping = module.Loader(
        module.build_pipeline(str(animals)), last_batch=module.LastBatchPolicy.DROP
    )
    assert [numbers(batch["images"]) for batch in dropping] == found[:4]


def test_shares_of_classes_over_fifty_epochs() -> None:
    for options, wanted in (
        ({"sampler": "balanced"}, [1, 1, 1]),
        ({"weights": [1, 2, 0.5]}, [12, 8, 1.5]),
        ({"sampler": "balanced", "weights": [1, 2, 3]}, [1, 2, 3]),
        ({"sample_weights": [float(n % 2) for n in range(COUNT)]}, [6, 2, 1]),
    ):
        order = np.concatenate([sampler(**options, seed=7).epoch(n) for n in range(50)])
        counts = np.bincount(np.asarray(LABELS)[order], minlength=3)
        expected = len(order) * np.asarray(wanted) / sum(wanted)
        assert ((counts - expected) ** 2 / expected).sum() < 13.8, options  # p = 0.001
        assert len(order) == 50 * COUNT


def test_every_sample_of_an_epoch_is_repeated(animals: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    module = program(graph_of(animals, sampler="random", repeats=3), tmp_path)
    for epoch in loaded(module, animals, 2):
        order = [each for batch in epoch for each in batch]
        assert set(Counter(order).values()) == {3}
        assert order == [each for each in order[::3] for _ in range(3)]


@pytest.mark.parametrize("options", [{}, {"repeats": 2}], ids=str)
def test_ranks_are_disjoint_without_replacement(
    options: dict[str, int], animals: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    module = program(graph_of(animals, sampler="random", **options), tmp_path)
    ranks = [loaded(module, animals, 3, shard_id=rank, num_shards=2) for rank in (0, 1)]
    orders = set()
    for epochs in zip(*ranks, strict=True):
        first, second = ([each for batch in epoch for each in batch] for epoch in epochs)
        assert not set(first) & set(second)
        repeats = options.get("repeats", 1)
        left_out = COUNT % 2 if repeats > 1 else 0  # so that both have the same length
        assert len(first + second) == repeats * (COUNT - left_out)
        orders.add(tuple(first))
    assert len(orders) == 3


def test_pipelines_side_by_side_share_an_epoch(animals: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    graph = graph_of(animals, sampler="random").with_settings(pipelines=2)
    epochs = loaded(program(graph, tmp_path), animals, 2)
    assert all(sorted(n for batch in epoch for n in batch) == [*range(COUNT)] for epoch in epochs)
    workbench = wb.Workbench(graph)
    assert epochs[0][:4] == [numbers(workbench.batch(number).images) for number in range(4)]


def test_a_loader_resumes_within_an_epoch(animals: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    module = program(graph_of(animals, sampler="balanced"), tmp_path)
    loader = module.Loader(module.build_pipeline(str(animals), resumable=True))
    steps = (batch for _ in range(3) for batch in loader)
    for _ in range(7):
        next(steps)
    saved = loader.checkpoint()
    expected = [numbers(next(steps)["images"]) for _ in range(6)]
    again = module.Loader(module.build_pipeline(str(animals), resumable=True, checkpoint=saved))
    steps = (batch for _ in range(3) for batch in again)
    assert [numbers(next(steps)["images"]) for _ in range(6)] == expected


def test_lists_are_sampled_too(animals: Path, tmp_path: Path) -> None:
    rows = [(str(path), path.parent.name) for path in sorted(animals.glob("*/*.png"))]
    listed = tmp_path / "list.txt"
    listed.write_text("".join(f"{path} {LABELS[int(Path(path).stem)]}\n" for path, _ in rows))
    found = []
    for data in (animals, rows, listed):
        batch = wb.Workbench(graph_of(data, sampler="balanced")).batch(1)
        found.append((numbers(batch.images), batch.labels.tolist()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "kind",
    one_in(3, ["coco/annotations.json", "yolo", "voc", "segmentation", "numpy", "volumes/images"]),
)
def test_samples_in_file_order_are_those_of_the_reader(kind: str, shapes: Path) -> None:
    data = shapes / kind
    options: list[dict[str, Any]] = [{}, {"ratio": True, "ltrb": True}]
    for more in options if kind.startswith("coco") else options[:1]:
        found, wanted = (
            wb.Workbench(wb.read(data, **more, **sampling).with_settings(batch_size=5))
            for sampling in ({"sampler": "sequential"}, {})
        )
        for number in (0, 5):
            ours, theirs = found.batch(number), wanted.batch(number)
            assert ours.files == theirs.files
            for name in wanted.graph.outputs:
                for mine, yours in zip(ours[name], theirs[name], strict=True):
                    assert same([mine], [yours])


def test_samples_without_one_class_have_weights_of_their_own(shapes: Path) -> None:
    data = shapes / "segmentation"
    with pytest.raises(WorkbenchError, match="do not have one class each"):
        wb.read(data, sampler="balanced")
    graph = wb.read(data, weights=[0] * 20 + [1] * 4).with_settings(batch_size=9)
    files = wb.Workbench(graph).batch(0).files
    assert len(files) == 9
    assert len({*files}) <= 4


class Opened:
    """A data set of pairs, with or without a list of labels."""

    def __init__(self, targets: bool) -> None:
        if targets:
            self.targets = [list(SIZES)[label] for label in LABELS]

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Any, str]:
        return np.full((8, 8, 3), index, np.uint8), list(SIZES)[LABELS[index]]


@pytest.mark.parametrize("targets", one_in(2, [False, True]))
def test_objects_in_memory_are_sampled(targets: bool, animals: Path) -> None:
    data = Opened(targets)
    workbench = wb.Workbench(graph_of(data, weights={"hen": 9}))
    expected = wb.Workbench(graph_of(animals, weights={"hen": 9}))
    for number in (0, 6):
        batch = workbench.batch(number)
        assert numbers(batch.images) == numbers(expected.batch(number).images)
        assert list(batch.files) == [*map(str, numbers(batch.images))]
    assert workbench.verify().exact


class WithNames(Opened):
    """A data set with a name next to the image and the label."""

    def __getitem__(self, index: int) -> Any:
        image, _ = super().__getitem__(index)
        return image, LABELS[index], str(index)


def test_named_fields_are_sampled_with_their_image() -> None:
    workbench = wb.Workbench(wb.read(WithNames(False), features=["name"], sampler="balanced"))
    batch = workbench.batch(2)
    assert [bytes(name).decode() for name in batch["name"]] == list(batch.files)
    assert [LABELS[int(file)] for file in batch.files] == numbers(batch["labels"])


class Shuffled:
    """A sampler that changes its order with ``set_epoch``."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.number = 0

    def set_epoch(self, number: int) -> None:
        self.number = number

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.default_rng(self.number).permutation(self.count).tolist())


def test_the_order_of_any_sampler_is_recorded(animals: Path) -> None:
    with pytest.warns(UserWarning, match="8 epochs of it are recorded, and then they repeat"):
        graph = graph_of(animals, sampler=Shuffled(COUNT))
    workbench = wb.Workbench(graph)
    found = [n for number in range(10) for n in numbers(workbench.batch(number).images)]
    assert found[:COUNT] == np.random.default_rng(0).permutation(COUNT).tolist()
    assert found[COUNT : 2 * COUNT] == np.random.default_rng(1).permutation(COUNT).tolist()
    assert graph_of(animals, sampler=range(3)).sources[0].args["indices"] == (0, 1, 2)


def test_samplers_of_pytorch_become_options(animals: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    distributed = data.DistributedSampler(LABELS, num_replicas=1, rank=0)
    for given, expected in (
        (data.RandomSampler(LABELS), {"sampler": "random"}),
        (data.SequentialSampler(LABELS), {"sampler": "sequential"}),
        (data.SubsetRandomSampler([3, 4]), {"sampler": "random", "indices": (3, 4)}),
        (distributed, {"sampler": "random"}),
        (
            data.WeightedRandomSampler([1.0] * COUNT, 30, replacement=True),
            {"sample_weights": (1.0,) * COUNT, "num_samples": 30},
        ),
        (
            data.RandomSampler(LABELS, replacement=True, num_samples=5),
            {"sampler": "random", "replacement": True, "num_samples": 5},
        ),
    ):
        assert wb.read(animals, sampler=given).sources[0].args == expected


def test_a_sampler_of_fewer_samples_is_recorded(animals: Path) -> None:
    data = pytest.importorskip("torch.utils.data")
    args = wb.read(animals, sampler=data.SequentialSampler(LABELS[:5])).sources[0].args
    assert args == {"sampler": "sequential", "indices": (0, 1, 2, 3, 4)}


def test_samples_are_not_renumbered_if_bad_ones_are_excluded(animals: Path, tmp_path: Path) -> None:
    folder = tmp_path / "animals"
    shutil.copytree(animals, folder)
    (folder / "cat" / "02.png").write_bytes(b"")
    graph = graph_of(folder, sampler=[9, 8, 7, 6])
    assert numbers(graph.batch(0).images) == [9, 8, 7, 6]
    with pytest.raises(DataError, match="'indices' of the sampler refers to samples by their num"):
        wb.export(graph, data=folder, skip_bad=True)
    with pytest.raises(DataError, match="'indices' of the sampler refers to samples by their num"):
        wb.Workbench(graph).verify(batches=1)
    assert wb.export(graph_of(folder, sampler="balanced"), data=folder, skip_bad=True).good


def test_coco_images_are_numbered_by_id_with_a_warning(tmp_path: Path) -> None:
    names, ids = ["0.png", "1.png", "2.png"], [5, 9, 2]
    for number, name in enumerate(names):
        Image.new("L", (8, 8), number).save(tmp_path / name)
    images = [
        {"id": key, "file_name": name, "width": 8, "height": 8}
        for key, name in zip(ids, names, strict=True)
    ]
    boxes = [{"id": key, "image_id": key, "category_id": 1, "bbox": [1, 1, 4, 4]} for key in ids]
    document = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "a"}]}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.warns(UserWarning, match="images in the order of their ids"):
        graph = wb.read(tmp_path / "a.json", weights=[1, 0, 0])
    assert {*graph.with_settings(batch_size=2).batch(0).files} == {"2.png"}


def test_images_without_a_mask_have_no_number(tmp_path: Path) -> None:
    for folder, left in (("images", [0, 1, 2]), ("masks", [0, 2])):
        (tmp_path / folder).mkdir()
        for number in left:
            Image.new("RGB", (8, 8), (number,) * 3).save(tmp_path / folder / f"{number}.png")
    found = wb.read(tmp_path, weights=[0, 1]).decode().with_settings(batch_size=2).batch(0)
    assert {*numbers(found["masks"]), *numbers(found.images)} == {2}
    with pytest.raises(DataError, match=r"3 values, but .* has 0 classes and 2 samples"):
        wb.read(tmp_path, weights=[0, 0, 1])


def test_more_weights_than_a_graph_stores_are_stored_by_class_or_refused(
    animals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samplers, "_MOST_STORED", COUNT - 1)
    by_sample = [1 / LABELS.count(label) for label in LABELS]
    given = wb.read(animals, weights=by_sample).sources[0].args
    assert given == {"weights": tuple(1 / LABELS.count(label) for label in range(3))}
    same = sampler(**given).epoch(3) == sampler(sample_weights=by_sample).epoch(3)
    assert same.all()
    with pytest.raises(DataError, match="sample_weights has 19 values, and a graph stores at most"):
        wb.read(animals, weights=[*by_sample[:-1], 7.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": {"cow": 2}}, "has no class 'cow'"),
        ({"weights": [1, 2]}, "weights has 2 values, but .* has 3 classes and 19 samples"),
        ({"weights": [0, 0, 0]}, "every weight is 0"),
        ({"weights": [1, float("nan"), 1]}, "nan is not finite"),
        ({"weights": [1, -1, 1]}, "-1.0 is out of range"),
        ({"sampler": "balance"}, "Did you mean balanced"),
        ({"sampler": "sequential", "weights": [1, 1, 1]}, "has no weights"),
        ({"sampler": 3}, "sampler is 3"),
        ({"sampler": [0, 1, 19]}, "yields 19 at position 2, but the samples are 0 to 18"),
        ({"sampler": [0.5]}, "yields 0.5 at position 0"),
        ({"sampler": [[0, 1]]}, "set the batch size"),
        ({"sampler": []}, "yields no index"),
        ({"sampler": "random", "indices": []}, "it is empty"),
        ({"sampler": "random", "repeats": 0}, "0 is out of range"),
    ],
)
def test_what_is_not_a_sampler_of_the_data_is_refused(
    options: dict[str, Any], message: str, animals: Path
) -> None:
    with pytest.raises(WorkbenchError, match=message):
        wb.read(animals, **options)


def test_weights_with_two_meanings_are_refused(tmp_path: Path) -> None:
    for name, count in (("1", 1), ("2", 1), ("3", 1)):
        (tmp_path / name).mkdir()
        for number in range(count):
            Image.new("L", (8, 8)).save(tmp_path / name / f"{number}.png")
    with pytest.raises(DataError, match=r"1 is the name of class 0 of .* Use the name: '1'"):
        wb.read(tmp_path, weights={1: 2})
    rows = [(tmp_path / name / "0.png", label) for name, label in (("1", "b"), ("2", "a"))]
    with pytest.raises(DataError, match="could be one per class or one per sample"):
        wb.read(rows, weights=[1, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"indices": [19]}, "indices has 19, but the 19 samples are numbered from 0"),
        ({"sample_weights": [1.0]}, "sample_weights has 1 values. Use 19, one per sample"),
        ({"sampler": "balanced", "replacement": False, "num_samples": 20}, "only 19 samples"),
    ],
)
def test_what_does_not_fit_other_data_names_the_reader(
    options: dict[str, Any], message: str, animals: Path
) -> None:
    with pytest.raises(WorkbenchError, match=f"reader: .*{message}"):
        wb.Workbench(graph_of(animals, **options)).batch(0)


def test_a_class_that_is_never_read_and_a_short_epoch_are_reported(animals: Path) -> None:
    graph = graph_of(animals, weights={"hen": 0}, num_samples=3)
    found = [str(each) for each in sampler_warnings(graph)]
    assert "the weight of class 2 is 0: its samples are never read" in found[0]
    assert "an epoch has 3 samples, fewer than a batch of 4" in found[1]
    ordered = graph_of(animals, sampler="sequential", random_shuffle=True)
    (warning,) = sampler_warnings(ordered)
    assert "random_shuffle has no effect with this sampler" in str(warning)


def test_data_without_random_access_are_refused(animals: Path, shapes: Path) -> None:
    for data in (shapes / "webdataset", shapes / "tfrecord", shapes / "video"):
        with pytest.raises(DataError, match="samples can be read in any order"):
            wb.read(data, sampler="balanced")
    with pytest.raises(WorkbenchError, match="a sampler needs any order"):
        wb.read(shapes / "webdataset")["reader"].set(sampler="balanced")
    with pytest.raises(WorkbenchError, match="reader: A sampler needs data"):
        wb.Workbench(shapes / "webdataset", graph_of(animals, sampler="balanced")).batch(0)


def test_commands_have_a_sampler(animals: Path, shapes: Path, tmp_path: Path) -> None:
    made = tmp_path / "pipe.py"
    options = ["rotate-jitter", "--sampler", "balanced", "--data"]
    found = CliRunner().invoke(main, ["export", *options, str(animals), "-o", str(made)])
    assert found.exit_code == 0, found.output
    assert 'sampler="balanced"' in made.read_text()
    found = CliRunner().invoke(main, ["verify", *options, str(shapes / "webdataset")])
    assert found.exit_code == 1
    assert "A sampler needs data whose samples can be read in any order" in found.output


def test_targets_without_python_are_refused(animals: Path) -> None:
    graph = graph_of(animals, sampler="balanced")
    for target in ("tensorflow", "dynamic", "torchvision", "albumentations", "proxy"):
        with pytest.raises(GraphExportError, match=r"reader.*[Rr]eset"):
            export(graph, target)


def test_file_names_as_outputs_are_refused(animals: Path) -> None:
    assert wb.read(animals)["reader"].sampler is None  # the inspector shows: not set
    with pytest.raises(GraphExportError, match="files of a reader with a sampler"):
        export(graph_of(animals, sampler="balanced"), "pytorch", with_="samples")


def test_validation_reads_in_file_order(animals: Path) -> None:
    from workbench.catalog import load_catalog
    from workbench.graph.types.typed_graph import TypedGraph

    graph = graph_of(animals, weights=[1, 2, 3], repeats=2)
    found = validation_graph(TypedGraph(graph, load_catalog()))
    assert found is not None
    assert not found.sources[0].args


@pytest.mark.parametrize("plain", [False, True])
def test_an_exported_program_is_read_back(plain: bool, animals: Path, tmp_path: Path) -> None:
    graph = graph_of(animals, weights=[1, 2, 3], num_samples=7)
    path = tmp_path / "pipe.py"
    path.write_text(wb.export(graph, "script", plain=plain).main.text)
    found = wb.from_file(path, args={"data": str(animals)}).graph
    assert found.sources[0].args == graph.sources[0].args
    assert found.sources[0].kind == "folder"


@pytest.mark.parametrize(
    "place", ["yolo/data.yaml", "voc", "coco/annotations.json", "segmentation"]
)
def test_a_plain_program_of_annotated_data_is_read_back(
    place: str, shapes: Path, tmp_path: Path
) -> None:
    data = str(shapes / place)
    graph = wb.read(data, sampler="random", repeats=2).decode().resize(size=(8, 8))
    path = tmp_path / "pipe.py"
    path.write_text(wb.export(graph, "script", plain=True).main.text)
    found = wb.from_file(path, args={"data": data})
    (source,), (given,) = found.graph.sources, graph.sources
    assert (source.op, source.kind, source.args) == (given.op, given.kind, given.args)
    assert "opaque" not in {each.kind for each in found.report.entries}
