"""Frames of paths: those of pandas and Polars where installed, and a stand-in of the same face."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import same, script_batches
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.preview.verify import Verifier
from workbench.sources import (
    Dataset,
    class_names,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
)

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


class Lazy(Table):
    def collect(self) -> Table:
        raise AssertionError("not ours to run")


for each in (Column, Table, Lazy):
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


def test_the_order_of_categories_numbers_the_classes() -> None:
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
        ({"pfad": ["/a"], "n": [1]}, "no column of paths; its columns are: pfad, n. Choose"),
        ({}, "its columns are: none"),
        ({"path": []}, "The frame has no rows"),
        ({"path": ["/a", None]}, "Row 1 of the column 'path' holds "),
        ({"path": [b"GIF89a"]}, "Row 0 of the column 'path' holds 6 bytes, which is no path"),
        ({"path": ["/a", " "]}, "Row 1 of the column 'path' holds ' ' (str)"),
        (
            {"path": ["/a", "/b", "/c"], "label": [0.0, float("nan"), 2.0]},
            "Row 1 of the column 'label' holds nan (float), which is no label",
        ),
        ({"path": ["/a"], "label": [1.5]}, "Row 0 of the column 'label' holds 1.5 (float)"),
        ({"path": ["/a", "/b"], "label": ["cat", None]}, "Row 1 of the column 'label' holds "),
        ({"path": ["/a"], "PATH": ["/b"]}, "2 columns 'path', 'PATH'. Leave one"),
    ],
)
def test_what_does_not_fit_names_column_and_row(
    make: MakeFrame, columns: dict[str, list[Any]], words: str
) -> None:
    with pytest.raises(DataError) as caught:
        open_dataset(make(columns))
    assert words in str(caught.value)


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(DataError, match=r"Give frame.collect\(\)"):
        open_dataset(Lazy({"path": ["/a"]}))


def test_a_label_too_large_for_dali_is_refused(make: MakeFrame) -> None:
    with pytest.raises(DataError, match="does not fit into 32 bits"):
        require_dataset(open_dataset(make({"path": ["/a"], "label": [2**31]})))


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
