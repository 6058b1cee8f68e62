"""Invalid data are reported with the fix, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from PIL import Image

import workbench as wb
from tests.helpers import same, script_batches
from tests.sources.in_memory import COUNT, PIXELS, Photos, a_graph, png
from tests.sources.written import write_parquet
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.health import scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import (
    Dataset,
    class_names,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)
from workbench.sources.kinds.memory import open_images, split_row
from workbench.sources.python_data import facts_of
from workbench.sources.tables import RowsWithClassNumbers, TableRows


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
        (PIXELS / 255, r"float64 has values from 0 to 1. Use uint8: \(255 \* array\).round"),
        (PIXELS.astype(np.float32), r"has values from 0 to 255. Use uint8: array.clip"),
        (not_a_number(), "float32 holds NaN, which is not a pixel"),
        (PIXELS.astype(object), "holds Python objects. Use a list of uint8 arrays"),
        (PIXELS.astype(np.int64), "of int64 has values from .* Use uint8: array.astype"),
        (PIXELS.astype(np.uint16) * 200, "of uint16 has values from .* Scale the values to 0"),
        (PIXELS.astype(np.int16) - 300, "of int16 has values from -300 to .* Scale"),
        (PIXELS.astype(np.complex64), "of complex64 is not uint8. Use uint8 from 0 to 255"),
        (PIXELS.astype("S3"), "is not uint8. Use uint8 from 0 to 255"),
        (PIXELS > 9, r"of bool is not uint8. Use 255 \* array"),
        (np.moveaxis(PIXELS, 3, 1), r"channels-first. Put channels last: array.transpose\(0, 2, 3"),
        (np.zeros((2, 4, 4, 5), np.uint8), r"5 channels, but images have 1 or 3. Use array\[...,"),
        (np.zeros((2, 4, 4, 2), np.uint8), "2 channels, but images have 1 or 3. Use 1 or 3"),
        (PIXELS[:0], r"array \(0, 40, 50, 3\) of uint8 has no images"),
        (np.zeros((2, 0, 4, 3), np.uint8), "has no pixels"),
        (PIXELS[0], r"is a single image. Pass a list of images, or array\[None\]"),
        (PIXELS[0, :, :, 0], r"is a single image. .* or array\[None, ..., None\]"),
        (PIXELS[..., 0], r"no channel axis at its end. Use array\[..., None\]"),
        (np.moveaxis(PIXELS[0], 2, 0), r"array.transpose\(1, 2, 0\)\[None\]"),
        (np.zeros(7, np.uint8), "not a batch of images"),
        (PIXELS[None], "not a batch of images"),
        ([PIXELS[0], PIXELS[1] / 255], "Item 1, an array .* of float64, has values from 0 to"),
        ([PIXELS[0], np.moveaxis(PIXELS[1], 2, 0)], "Item 1, .* is channels-first"),
        ([PIXELS[0], PIXELS[1][..., 0]], "Item 1 has 1 channel but item 0 has 3"),
        ([PIXELS[0], None], r"Item 1 is None \(NoneType\), not an image"),
        ([PIXELS[0], "a.jpg"], "Item 1 is a path, but item 0 is an image"),
        ([(PIXELS[0], 1), (PIXELS[1], "cat")], r"Item 1: its label is 'cat' \(str\). Use one"),
        ([(PIXELS[0], 2**31)], "Item 0: its label is 2147483648, which exceeds 32 bits"),
        ([(PIXELS[0], 1, 2)], "Item 0: it has 3 parts"),
        ([PIXELS[0], PIXELS[1][:0]], r"Item 1, an array \(0, 50, 3\) of uint8, has no pixels"),
        ([PIXELS[0], PIXELS[1][:0] / 255], r"Item 1, .* of float64, has no pixels\. Remove it"),
        ([PIXELS[0], np.zeros(0, np.uint8)], r"Item 1, an array \(0,\) of uint8, has no pixels"),
        ([PIXELS], "Item 0, an array .* is not an image"),
        ([{"picture": b""}], "Item 0: it has no image, only 'picture'. Name the image column"),
        ((PIXELS, np.arange(3)), "11 images but 3 labels"),
        ((PIXELS, np.arange(11) / 2), r"Item 1: its label is 0.5 \(float\). Use one"),
        ((PIXELS, np.arange(11) * 10**10), "label is 10000000000, which exceeds 32 bits"),
        ((PIXELS[0], 3), "a single image with its label. Pass a list"),
        (png(PIXELS[0]), r"single image \(bytes\)"),
        (Image.fromarray(PIXELS[0]), r"single image \(Image\)"),
        (Loader(), "Data of type 'Loader' yield batches in an order of their own. Pass the"),
        ({3}, "Data of type 'set' can only be iterated over"),
        (3, r"3 \(int\) cannot be read as data"),
        (Loader, "'Loader' is a function or class, and not data. Pass it to wb.source"),
        (iter([([PIXELS[0]], [1])]), "'list_iterator' yield batches .* creates them to wb.source"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_remedy(data: Any, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        open_dataset(data)
    assert str(caught.value).endswith((".", "]"))


def test_a_tensor_of_any_type_is_told() -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.ones(2, 3, 4, 4, requires_grad=True), torch.ones(2, 3, 4, 4).bfloat16()):
        with pytest.raises(DataError, match=r"has values from 1 to 1\. Use uint8: .*byte\(\)"):
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


class Endless:
    """Samples that can only be iterated over, each with a number as its label."""

    classes = ("even", "odd")

    def __iter__(self) -> Iterator[Any]:
        return ((PIXELS[0], number % 2) for number in count())


@pytest.mark.parametrize(
    ("data", "title"),
    [(Endless(), "the first 256 images of Endless"), (iter([PIXELS[0]] * 3), "the first 3 images")],
)
def test_of_data_that_can_only_be_iterated_over_the_first_samples_are_used(
    data: Any, title: str
) -> None:
    with pytest.warns(UserWarning, match="can only be iterated over, so each epoch uses their"):
        dataset = open_dataset(data)
    assert str(dataset).startswith(title)
    assert len(list(list_samples(dataset))) == int(title.split()[2])


def test_an_empty_iterable_data_set_of_pytorch_is_refused() -> None:
    torch = pytest.importorskip("torch")

    class Empty(torch.utils.data.IterableDataset):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[int]:
            return iter(())

    with pytest.raises(DataError, match="Data of type 'Empty' yield no sample"):
        open_dataset(Empty())


def test_a_data_set_without_images_is_refused_by_its_first_sample() -> None:
    class Numbers(Photos):
        def __getitem__(self, index: int) -> Any:
            return np.zeros((3, 8, 8), np.float32), 0

    with pytest.raises(DataError, match="Sample 0 of Numbers: its values have type float32"):
        open_dataset(Numbers())

    class Raising(Photos):
        def __getitem__(self, index: int) -> Any:
            raise OSError("my disk is gone")

    line = r"Line \d+: raise OSError\(\"my disk is gone\"\)$"
    with pytest.raises(DataError, match=f"Sample 0 of Raising raises OSError: my disk.* {line}"):
        open_dataset(Raising())


class Named(Photos):
    """A data set of dicts with text labels and masks, without class names."""

    classes = None  # type: ignore[assignment]

    def __init__(self, count: int = 4) -> None:
        super().__init__()
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        image, number = super().__getitem__(index % 4)
        return {"image": image, "target": NAMES[1 - number], "mask": image, "id": 3}


def test_a_small_data_set_may_have_text_labels_and_what_is_not_read_is_named() -> None:
    with pytest.warns(UserWarning, match="Named have mask besides image and label"):
        graph = wb.read(Named()).decode().resize(size=(8, 8)).with_settings(batch_size=4)
    assert graph.batch(0).labels.tolist() == [1, 0, 1, 0]
    ((_, labels),) = wb.loader(graph, library="numpy")
    assert labels.tolist() == [1, 0, 1, 0]
    with pytest.raises(DataError, match=r"'cat' .str.. Use .*, or set data.classes to their names"):
        open_dataset(Named(4_000))


# Frames of paths: those of pandas and Polars where installed, and a stand-in of the same face.

MakeFrame = Callable[[dict[str, list[Any]]], Any]


class Column:
    """A ``polars.Series``, as far as it is used."""

    def __init__(self, name: str, values: list[Any]) -> None:
        self.name, self._values = name, values

    def to_list(self) -> list[Any]:
        return self._values


class Table:
    """A ``polars.DataFrame``, as far as it is used."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Column:
        return Column(name, self._columns[name])

    def __eq__(self, other: object) -> bool:
        raise TypeError("a frame compares element by element")


for each in (Column, Table):
    each.__module__ = "polars.stand_in"


@pytest.fixture(params=["stand-in", "pandas", "polars"])
def make(request: pytest.FixtureRequest) -> MakeFrame:
    if request.param == "stand-in":
        return Table
    library = pytest.importorskip(request.param)
    frame: MakeFrame = library.DataFrame
    return frame


def test_a_frame_of_paths_is_a_list_of_files(make: MakeFrame) -> None:
    dataset = open_dataset(make({"width": [3, 4], "Path": ["b.jpg", "/a.jpg"], "label": [7, 2]}))
    assert dataset.kind == "file_list"
    assert dataset.items == ((os.path.abspath("b.jpg"), 7), ("/a.jpg", 2))
    assert open_dataset(make({"file": ["/a.jpg"]})).items == (("/a.jpg", 0),)


def test_labels_may_be_names_of_classes(make: MakeFrame) -> None:
    dataset = open_dataset(make({"path": ["/b", "/a", "/c"], "class": ["dog", "cat", "dog"]}))
    assert class_names(dataset) == ["cat", "dog"]
    assert [sample.label for sample in list_samples(dataset)] == [1, 0, 1]


def test_the_order_of_categories_of_pandas_numbers_the_classes() -> None:
    pandas = pytest.importorskip("pandas")

    def opened(categories: list[str]) -> Dataset:
        label = pandas.Categorical(["dog", "cat", "emu", "dog"], categories=categories)
        return open_dataset(pandas.DataFrame({"path": ["/b", "/a", "/c", "/d"], "label": label}))

    emu_first, other = opened(["emu", "dog", "cat", "bat"]), opened(["elk", "dog", "cat", "emu"])
    assert class_names(emu_first) == ["emu", "dog", "cat", "bat"]
    assert [sample.label for sample in list_samples(emu_first)] == [1, 2, 0, 1]
    assert str(emu_first) == "a list of 4 files"
    assert class_names(other) == ["elk", "dog", "cat", "emu"]
    in_order = opened(["cat", "dog", "emu"])
    assert class_names(in_order) == ["cat", "dog", "emu"]
    assert in_order.items[0] == ("/b", "dog")


def test_names_of_the_same_numbers_are_kept_apart() -> None:
    pandas = pytest.importorskip("pandas")
    opened = []
    for names in (["b", "a"], ["y", "x"]):
        label = pandas.Categorical(names, categories=names)
        opened.append(open_dataset(pandas.DataFrame({"path": ["/b", "/a"], "label": label})))
    assert [class_names(each) for each in opened] == [["b", "a"], ["y", "x"]]


def test_a_column_alone_is_one_of_paths(make: MakeFrame) -> None:
    column = make({"anything": ["/b.jpg", "/a.jpg"]})["anything"]
    assert open_dataset(column).items == (("/b.jpg", 0), ("/a.jpg", 0))


def test_files_of_many_samples_are_of_their_kind(make: MakeFrame) -> None:
    assert open_dataset(make({"path": ["/0.tar", "/1.tar"]})).kind == "webdataset"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"pfad": ["/a"], "n": [1]}, "no column 'path' (columns: pfad, n). Choose"),
        ({}, "(columns: none)"),
        ({"path": []}, "The data frame has no rows"),
        ({"path": ["/a", None]}, "Row 1 of the column 'path' is "),
        ({"path": [b"GIF89a"]}, "Row 0 of the column 'path' is 6 bytes, not a path"),
        ({"path": ["/a", " "]}, "Row 1 of the column 'path' is ' ' (str)"),
        (
            {"path": ["/a", "/b", "/c"], "label": [0.0, float("nan"), 2.0]},
            "Row 1 of the column 'label' is nan (float), not a label",
        ),
        ({"path": ["/a"], "label": [1.5]}, "Row 0 of the column 'label' is 1.5 (float)"),
        ({"path": ["/a", "/b"], "label": ["cat", None]}, "Row 1 of the column 'label' is "),
        (
            {"path": ["/a"], "PATH": ["/b"]},
            "columns 'path', 'PATH' have the same meaning. Keep one",
        ),
    ],
)
def test_what_does_not_fit_names_column_and_row(
    make: MakeFrame, columns: dict[str, list[Any]], words: str
) -> None:
    with pytest.raises(DataError) as caught:
        open_dataset(make(columns))
    assert words in str(caught.value)


def test_a_label_too_large_for_dali_is_refused(make: MakeFrame) -> None:
    with pytest.raises(DataError, match="does not fit into DALI's 32-bit labels"):
        require_dataset(open_dataset(make({"path": ["/a"], "label": [2**31]})))


@pytest.mark.parametrize("images", [False, True])
def test_a_negative_label_is_a_warning(photos: Path, images: bool) -> None:
    path = next(photos.rglob("*.jpg"))
    first = PIXELS[0] if images else path
    with pytest.warns(UserWarning, match="1 has the label -1, which is not a class"):
        wb.read([(first, 0), (first, -1)])


def test_its_pixels_are_those_of_the_folder(photos: Path, tmp_path: Path, engine: Engine) -> None:
    samples = list(list_samples(open_dataset(photos)))
    frame = Table({"path": [each.path for each in samples], "label": [s.label for s in samples]})
    recipe = load_recipe("rotate-jitter")
    (reader,) = recipe.sources
    in_order = replace(reader, args={**reader.args, "random_shuffle": False})
    nodes = tuple(in_order if node.id == reader.id else node for node in recipe.nodes)
    graph = replace(recipe, nodes=nodes, settings=replace(recipe.settings, batch_size=5))
    data = open_datasets(frame)
    written = tmp_path / "list.txt"
    written.write_text("".join(f"{each.path} {each.label}\n" for each in samples))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    found = script_batches(with_datasets(graph, data), written, 2, ours)
    wanted = script_batches(graph, photos, 2, theirs)
    for one, other in zip(found, wanted, strict=True):
        assert all(same(mine, yours) for mine, yours in zip(one, other, strict=True))
    verified = Verifier(with_datasets(graph, data), data, 2, engine=engine).run()
    assert verified.exact, verified.lines()


# Labels that are texts: tables number them by their order, and keep the names, as folders do.

NAMES = ["bird", "cat", "dog"]
TEXTS = [NAMES[2 - number % 3] for number in range(COUNT)]
NUMBERS = [2 - number % 3 for number in range(COUNT)]
COLUMNS: dict[str, list[Any]] = {"image": [png(each) for each in PIXELS], "Label": TEXTS}


def arrow() -> Any:
    return pytest.importorskip("pyarrow").table(COLUMNS)


def dictionary() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    texts = pyarrow.array(TEXTS).dictionary_encode()
    return pyarrow.table({"image": COLUMNS["image"], "label": texts})


def pandas(kind: str = "object") -> Any:
    frame = pytest.importorskip("pandas").DataFrame(COLUMNS)
    return frame.astype({"Label": kind})


def polars() -> Any:
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def hugging_face() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(COLUMNS)


FORMS: dict[str, Callable[[], Any]] = {
    "Arrow": arrow,
    "Arrow, by dictionary": dictionary,
    "pandas": pandas,
    "pandas, categories": lambda: pandas("category"),
    "Polars": polars,
    "Hugging Face": hugging_face,
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_texts_of_a_table_are_classes_by_name(form: str, engine: Engine) -> None:
    dataset = open_dataset(FORMS[form]())
    assert class_names(dataset) == NAMES
    assert {each.label for each in list_samples(dataset)} <= {*NUMBERS, -1}
    preview = preview_batch(engine, PreviewRequest(a_graph(dataset), dataset, tiles=4))
    assert not preview.note
    rows = open_images(FORMS[form]())
    assert [split_row(rows[at])[1] for at in range(COUNT)] == NUMBERS
    counted = scan_folder(dataset).class_counts
    assert counted == {name: TEXTS.count(name) for name in NAMES}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_order_of_categories_numbers_the_classes(library: str) -> None:
    module = pytest.importorskip(library)
    order = ["dog", "emu", "cat", "bird"]
    kind = module.CategoricalDtype(order) if library == "pandas" else module.Enum(order)
    columns = {"image": COLUMNS["image"]}
    frame = module.DataFrame({**columns, "label": module.Series(TEXTS, dtype=kind)})
    dataset = open_dataset(frame)
    assert class_names(dataset) == order
    wanted = [order.index(text) for text in TEXTS]
    rows = open_images(frame)
    assert [split_row(rows[at])[1] for at in range(COUNT)] == wanted
    assert [each.label for each in list_samples(dataset)] == wanted
    assert scan_folder(dataset).class_counts["emu"] == 0


def test_a_parquet_file_keeps_them_too(tmp_path: Path, engine: Engine) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    images = [{"bytes": each, "path": "a.png"} for each in COLUMNS["image"]]
    rest = {"label": TEXTS, "caption": TEXTS}
    parquet.write_table(pyarrow.table({"image": images, **rest}), tmp_path / "photos.parquet")
    path = str(tmp_path / "photos.parquet")
    assert class_names(open_dataset(path)) == NAMES
    assert scan_folder(path).classes == tuple(NAMES)
    told = Verifier(a_graph(path), path, 2, engine=engine).run()
    assert told.exact, told.lines()
    graph = a_graph(path, shuffled=False)
    (batch,) = script_batches(graph, path, 1, tmp_path)
    labels = batch[list(graph.outputs).index("labels")]
    assert [int(label.item()) for label in labels] == NUMBERS[: len(labels)]
    rows = open_images(path)
    assert rows[0].keys() == {"image", "label"}


def test_a_label_that_is_missing_is_that_sample_s_fault() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"image": COLUMNS["image"][:3], "label": ["dog", None, "cat"]})
    rows = open_images(table)
    assert split_row(rows[0])[1] == 1
    with pytest.raises(ValueError, match=r"its label is None \(NoneType\)\. Use one"):
        split_row(rows[1])
    dataset = open_dataset(table)
    assert class_names(dataset) == ["cat", "dog"]
    assert [each.label for each in list_samples(dataset)] == [1, -1, 0]


def test_numbers_stay_as_they_are() -> None:
    """Written as texts they are themselves, as in a list of files."""
    pyarrow = pytest.importorskip("pyarrow")
    digits = pyarrow.table({"image": COLUMNS["image"][:3], "label": ["10", "9", "007"]})
    assert [split_row(row)[1] for row in open_images(digits).__getitems__(range(3))] == [10, 9, 7]
    assert class_names(open_dataset(digits)) == []
    table = pyarrow.table({"image": COLUMNS["image"], "label": NUMBERS})
    assert not isinstance(open_images(table), RowsWithClassNumbers)
    assert class_names(open_dataset(table)) == []
    assert not isinstance(open_images(table.select(["image"])), RowsWithClassNumbers)


# Parquet files and tables of Arrow: which columns are read, and without copies.


def test_a_parquet_file_shows_no_other_file(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "secret.png").write_bytes(png(PIXELS[0]))
    rows = [{"bytes": None, "path": str(tmp_path / "secret.png")}]
    parquet.write_table(pyarrow.table({"image": rows}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a.parquet has no column of encoded images, only 'image"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    parquet.write_table(pyarrow.table({"image": ["/a.png"]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="has no column of encoded images, only 'image'"):
        require_dataset(open_dataset(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"b.parquet cannot be read as Parquet"):
        require_dataset(open_dataset(tmp_path / "b.parquet"))
    whole = write_parquet([(png(each), 3) for each in PIXELS], tmp_path / "c")
    assert [each.label for each in list_samples(open_dataset(whole))] == [3] * COUNT


def test_bytes_of_a_table_are_not_copied() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [b"one", None, b"", b"three"]
    table = pyarrow.table({"image": rows, "more": ["a", "b", None, "c"], "label": range(4)})
    table = pyarrow.concat_tables([table.slice(2, 0), table.slice(1), table])
    for wide in (table, table.cast(table.schema.set(0, pyarrow.field("image", "large_binary")))):
        found = TableRows(wide)
        images = [row["image"] for row in found.__getitems__(range(len(found)))]
        wanted = [*rows[1:], *rows]
        assert [None if each is None else bytes(each) for each in images] == wanted
        assert np.shares_memory(found[3]["image"], found[3]["image"])
        assert found[4] == {"image": None, "more": "b", "label": 1}


def test_a_file_that_no_memory_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet([(png(each), 3) for each in PIXELS], tmp_path / "c")
    free = SimpleNamespace(available=2**14)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(DataError, match=r"GiB of memory.* Convert it to WebDataset"):
        require_dataset(open_dataset(path))
