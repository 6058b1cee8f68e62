"""What is no data is said with the remedy, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.sources.in_memory import PIXELS, Photos, png
from workbench.errors import DataError
from workbench.sources import list_samples, open_dataset
from workbench.sources.kinds.memory import split_row
from workbench.sources.python_data import facts_of


class Stream:
    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return iter(PIXELS)


class Loader(Stream):
    dataset, batch_size = PIXELS, 4


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
        (PIXELS.astype(np.int64), "of int64 goes from .* Give uint8: array.astype"),
        (PIXELS.astype(np.uint16) * 200, "of uint16 goes from .* Scale the values to 0 to 255"),
        (PIXELS.astype(np.int16) - 300, "of int16 goes from -300 to .* Scale"),
        (PIXELS.astype(np.complex64), "of complex64 is no uint8. Give uint8 from 0 to 255"),
        (PIXELS.astype("S3"), "is no uint8. Give uint8 from 0 to 255"),
        (PIXELS > 9, r"of bool is no uint8. Give 255 \* array"),
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
        ([PIXELS[0], PIXELS[1][:0]], r"Item 1, an array \(0, 50, 3\) of uint8, has no pixels"),
        ([PIXELS[0], PIXELS[1][:0] / 255], r"Item 1, .* of float64, has no pixels\. Leave it out"),
        ([PIXELS[0], np.zeros(0, np.uint8)], r"Item 1, an array \(0,\) of uint8, has no pixels"),
        ([PIXELS], "Item 0, an array .* is no image"),
        ([{"picture": b""}], "Item 0: it has picture, but no image: name that column image"),
        ((PIXELS, np.arange(3)), "11 images and 3 labels"),
        ((PIXELS, np.arange(11) / 2), "Item 1: its label is '0.5': number the classes"),
        ((PIXELS, np.arange(11) * 10**10), "Item 1: its label is 10000000000, more than 32 bits"),
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


def test_a_tensor_of_any_type_is_told() -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(2, 3, 4, 4, requires_grad=True), torch.ones(2, 3, 4, 4).bfloat16()):
        with pytest.raises(DataError, match=r"goes from 1 to 1\. Give uint8: .*byte\(\)"):
            open_dataset(tensor)


def test_a_label_that_is_none_does_not_end_the_count() -> None:
    """A data set in Python is not looked through when it is opened."""

    class Late(Photos):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index)[0], index * 10**10

    dataset = open_dataset(Late())
    assert len(list(list_samples(dataset))) == len(Photos())
    facts = facts_of([], [(PIXELS[0], 1), (PIXELS[0], 10**10)], split_row)
    assert facts(0)[0] == 1
    assert facts(1) == (-1, -1)


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
