"""Batches of any kind have fields with a value per sample, and ids are found in them."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from workbench.training.audit.batches import VALUES, read_batch
from workbench.training.audit.numbered import numbers_of, write_coloured
from workbench.training.audit.reading import EpochRead
from workbench.training.audit.streams import find_id_field

IMAGES = np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3)
LABELS = np.array([3, 1, 2, 0])
Pair = namedtuple("Pair", "image label")
TARGETS = [{"image_id": 3}, {"image_id": 1}, {"image_id": 2}, {"image_id": 0}]
ROWS = list(zip(IMAGES, LABELS.tolist(), strict=True))


@pytest.mark.parametrize(
    ("batch", "images", "labels"),
    [
        ((IMAGES, LABELS), "0", "1"),
        ([IMAGES, LABELS[:, None]], "0", "1"),
        ({"image": IMAGES, "label": LABELS}, "image", "label"),
        ([{"image": IMAGES, "label": LABELS}], "image", "label"),
        (Pair(IMAGES, LABELS), "image", "label"),
        ({"views": [IMAGES, IMAGES], "target": {"id": LABELS}}, "views.1", "target.id"),
        ((list(IMAGES), LABELS.tolist()), "0", "1"),
        ((tuple(IMAGES), TARGETS), "0", "1.image_id"),
        (ROWS, "0", "1"),
        ([{"image": image, "label": label} for image, label in ROWS], "image", "label"),
        ([{"x": IMAGES[:2], "y": LABELS[:2]}, {"x": IMAGES[2:], "y": LABELS[2:]}], "x", "y"),
        ((IMAGES, LABELS, {"epoch": 3, "names": ["a", "b"]}), "0", "1"),
    ],
)
def test_a_batch_has_fields_of_samples(batch: Any, images: str, labels: str) -> None:
    read = read_batch(batch)
    assert read.size == 4
    assert read.scalars[labels] == LABELS.tolist()
    expected = read_batch(IMAGES).prints["batch"]
    np.testing.assert_array_equal(read.prints[images], expected)


def test_images_of_different_sizes_and_texts() -> None:
    read = read_batch(([IMAGES[0], IMAGES[1, :5], IMAGES[2, :7]], ["a", "b", "c"]))
    assert read.size == 3
    assert read.scalars["1"] == ["a", "b", "c"]
    assert len({*read.prints["0"].tolist()}) == 3
    named = read_batch({"name": np.array([b"a", b"b"], object), "label": np.array([1.0, 2.0])})
    assert named.scalars == {"name": ["a", "b"], "label": [1, 2]}


def test_a_flipped_image_has_equal_values_and_another_fingerprint() -> None:
    first, second = read_batch(IMAGES), read_batch(IMAGES[:, :, ::-1])
    assert (first.prints["batch" + VALUES] == second.prints["batch" + VALUES]).all()
    assert (first.prints["batch"] != second.prints["batch"]).all()


def test_padding_that_is_marked_does_not_count() -> None:
    read = read_batch({"label": LABELS, "valid": np.array([True, True, True, False])})
    assert (read.size, read.padding, read.scalars["label"]) == (3, 1, [3, 1, 2])


def test_tensors_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = (torch.tensor(IMAGES).bfloat16().requires_grad_(), torch.tensor(LABELS))
    read = read_batch(batch)
    assert read.scalars["1"] == LABELS.tolist()
    assert len(read.prints["0"]) == 4
    assert read_batch((batch[1], torch.eye(4).to_sparse())).size == 4


def test_outputs_of_a_dali_pipeline() -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=3, num_threads=1, device_id=None)
    def numbers() -> Any:
        return fn.random.uniform(shape=[4]), fn.random.uniform(range=(0, 9))

    pipe = numbers()
    pipe.build()
    read = read_batch(pipe.run())
    assert read.size == 3
    assert len({*read.prints["0"].tolist()}) == 3


def reads(*epochs: list[list[int]], name: str = "label") -> list[EpochRead]:
    found = []
    for number, epoch in enumerate(epochs):
        batches = [read_batch({name: np.array(labels), "x": np.zeros((len(labels), 3))})
                   for labels in epoch]  # fmt: skip
        found.append(EpochRead(0, number, batches=batches))
    return found


@pytest.mark.parametrize(
    ("epochs", "name", "count", "found"),
    [
        ([[[0, 1], [2, 3]], [[3, 1], [0, 2]]], "label", None, True),
        ([[[0, 1], [1, 0]], [[1, 1], [0, 0]]], "label", None, False),  # classes
        ([[[0, 1], [1, 0]], [[1, 1], [0, 0]]], "index", None, True),
        ([[[0, 1], [2, 2]], [[3, 1], [0, 2]]], "label", 4, True),
        ([[[70, 81], [92, 92]], [[83, 81], [70, 92]]], "label", 4, False),
        ([[[0, 1], [2, 3]], [[14, 15], [16, 17]]], "label", None, False),  # random integers
    ],
)
def test_labels_are_ids_if_they_are_unique(
    epochs: list[list[list[int]]], name: str, count: int | None, found: bool
) -> None:
    assert (find_id_field(reads(*epochs, name=name), count, False) == name) is found


def test_labels_that_never_repeat_in_a_batch_are_ids() -> None:
    twice = [[*range(k, k + 8)] for k in range(0, 64, 8) for _ in range(2)]
    assert find_id_field(reads(twice, twice, twice), None, False) == "label"
    classes = np.random.default_rng(1).integers(0, 64, (3, 16, 8)).tolist()
    assert find_id_field(reads(*classes), None, False) is None


def test_ids_can_be_given_by_a_function() -> None:
    batches = [[(f"file {n}", n % 2) for n in range(start, start + 5)] for start in (0, 5)]
    audit = wb.audit(lambda: batches, index=lambda batch: [name for name, _ in batch])
    assert {*(audit.streams[0].ids or ())} == {f"file {n}" for n in range(10)}


def test_the_colour_of_an_image_is_its_number(tmp_path: Path) -> None:
    folder = write_coloured(tmp_path, 100)
    images = [np.asarray(Image.open(file))[:8, :8] for file in sorted(folder.rglob("*.png"))]
    chance = np.random.default_rng(0)
    order = chance.permutation(100)
    shown = [images[n][:, ::-1].astype(np.float32) / 58 - (2.1, 2.0, 1.8) for n in order]
    read = read_batch(np.stack(shown), colours=True)
    assert numbers_of(read.colours["batch"], 100) == order.tolist()
    bright = read.colours["batch"] * chance.uniform(0.4, 1.6, (100, 1))
    assert numbers_of(bright, 100) is None
