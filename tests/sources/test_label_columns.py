"""Labels are never dropped: columns are chosen or an error, folders and texts are classes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from workbench.errors import DataError
from workbench.sources import class_names, list_samples, open_dataset, open_datasets
from workbench.sources.tables import NumberedPairs

TEXTS = ["dog", "dog", "ant", "ant"]


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    for name in ("bee", "cat"):
        (tmp_path / name).mkdir()
        for number in range(2):
            image = Image.fromarray(np.full((8, 8, 3), 60 * number, np.uint8))
            image.save(tmp_path / name / f"{number}.png")
    return [str(path) for path in sorted(tmp_path.rglob("*.png"))]


def encoded(paths: list[str]) -> list[bytes]:
    return [Path(path).read_bytes() for path in paths]


def found(data: Any, **chosen: Any) -> tuple[list[int], list[str]]:
    (dataset,) = wb.read(data, **chosen).datasets.values()
    return [each.with_location().label for each in list_samples(dataset)], class_names(dataset)


@pytest.mark.parametrize("column", ["y", "breed", "fine_label", "species"])
def test_a_column_that_may_hold_the_labels_is_an_error_or_chosen(
    paths: list[str], tmp_path: Path, column: str
) -> None:
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    tables = [
        pandas.DataFrame({"path": paths, column: TEXTS}),
        pandas.DataFrame({"photo": paths, column: TEXTS}),
        pandas.DataFrame({"image": encoded(paths), column: TEXTS}),
        arrow.table({"image": encoded(paths), column: TEXTS}),
    ]
    for table in tables:
        with pytest.raises(DataError, match=column):
            open_dataset(table)
        assert found(table, label=column) == ([1, 1, 0, 0], ["ant", "dog"])
        assert found(table, label="") == ([0, 0, 0, 0], [])
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(tables[-1], tmp_path / "photos.parquet")
    with pytest.raises(DataError, match=column):
        wb.read(str(tmp_path / "photos.parquet"))


def test_a_column_of_paths_of_any_name_keeps_the_names_of_files(paths: list[str]) -> None:
    pandas = pytest.importorskip("pandas")
    for name in ("img", "photo", "image"):
        dataset = open_dataset(pandas.DataFrame({name: paths, "label": TEXTS}))
        assert [each.path for each in list_samples(dataset)] == paths
    frame = pandas.DataFrame({"where": paths, "what": TEXTS})
    assert found(frame, path="where", label="what") == ([1, 1, 0, 0], ["ant", "dog"])
    with pytest.raises(DataError, match=r"no column 'wat'\. Use one of where, what"):
        wb.read(frame, path="where", label="wat")
    with pytest.raises(DataError, match="columns of a data frame or table"):
        wb.read(paths, label="y")


def test_a_list_of_paths_in_class_folders_has_their_labels(paths: list[str]) -> None:
    assert found(paths) == ([0, 0, 1, 1], ["bee", "cat"])
    assert found(paths[:2]) == ([0, 0], [])


@pytest.mark.parametrize("suffix", [".npy", ".avi"])
def test_so_have_lists_of_arrays_and_videos(suffix: str) -> None:
    dataset = open_dataset([f"/a/dog/0{suffix}", f"/a/ant/0{suffix}"])
    assert class_names(dataset) == ["ant", "dog"]
    from workbench.sources import load_source
    from workbench.sources.class_folders import files_of

    assert load_source(dataset.kind).suffixes == (suffix,) or suffix == ".avi"
    assert files_of(dataset.argument, (suffix,))[1] == [1, 0]


def test_a_dict_of_splits_is_no_data_set() -> None:
    class DatasetDict(dict[str, Any]):
        def cast_column(self) -> None:
            raise AssertionError

    splits: Any = DatasetDict(train=[], test=[])
    for read in (open_datasets, lambda data: wb.read(data, label="label")):
        with pytest.raises(DataError, match=r"splits 'train', 'test'\. Pass one"):
            read(splits)


def test_a_lazy_frame_is_refused_without_computing_it() -> None:
    class LazyFrame:
        collect = None

        @property
        def columns(self) -> list[str]:
            raise AssertionError

    LazyFrame.__module__ = "polars.lazyframe.frame"
    lazy: Any = LazyFrame()
    for chosen in ({}, {"label": "breed"}, {"path": "where", "label": ""}):
        with pytest.raises(DataError, match=r"lazy.*Pass frame\.collect"):
            wb.read(lazy, **chosen)


class Rows:
    """A table of Hugging Face."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.rows = list(rows)
        self.column_names = list(self.rows[0])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.rows[index]

    def cast_column(self) -> None:
        raise AssertionError

    def unique(self, column: str) -> list[Any]:
        if any(isinstance(row[column], list) for row in self.rows):
            raise NotImplementedError("unique of lists")
        return list(dict.fromkeys(row[column] for row in self.rows))


@pytest.mark.parametrize("column", ["path", "bytes", "image", "photo"])
def test_labels_beside_paths_and_bytes_are_kept(paths: list[str], column: str) -> None:
    """Rows of Hugging Face with a column named path or bytes had label 0."""
    values = paths if column == "path" else encoded(paths)
    rows = [{column: each, "label": text} for each, text in zip(values, TEXTS, strict=True)]
    assert found(Rows(rows)) == ([1, 1, 0, 0], ["ant", "dog"])
    both = [{**row, "path": path} for row, path in zip(rows, paths, strict=True)]
    assert found(Rows(both)) == ([1, 1, 0, 0], ["ant", "dog"])
    numbered = [{**row, "label": at} for at, row in enumerate(rows)]
    assert found(Rows(numbered))[0] == [0, 1, 2, 3]
    if column in ("bytes", "path"):
        with pytest.raises(DataError, match="no column 'label'"):
            wb.read(Rows({column: row[column], "breed": row["label"]} for row in rows))


def test_rows_without_an_image_or_with_lists_of_labels_say_so(paths: list[str]) -> None:
    with pytest.raises(DataError, match=r"it is None\. Use the bytes"):
        wb.read(Rows([{"image": {"bytes": None, "path": None}, "label": 1}]))
    lists = [{"image": each, "label": [1, 2]} for each in encoded(paths)]
    with pytest.raises(DataError, match=r"its label is \[1, 2\] \(list\)\. Use one"):
        wb.read(Rows(lists))


class Pairs:
    """A data set of PyTorch whose labels are texts."""

    def __init__(self, paths: list[str], **told: Any) -> None:
        self.paths = paths
        vars(self).update(told)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        return np.asarray(Image.open(self.paths[index])), TEXTS[index]


def test_text_labels_are_classes_in_pairs_and_data_sets(paths: list[str]) -> None:
    pixels = [np.asarray(Image.open(io.BytesIO(each))) for each in encoded(paths)]
    wanted = [1, 1, 0, 0], ["ant", "dog"]
    assert found(list(zip(pixels, TEXTS, strict=True))) == wanted
    assert found(list(zip(paths, TEXTS, strict=True))) == wanted
    assert found((np.stack(pixels), TEXTS)) == wanted
    assert found(Pairs(paths, classes=["ant", "dog"])) == wanted
    assert found(Pairs(paths, targets=TEXTS)) == wanted
    assert found(Pairs(paths)) == wanted
    with pytest.raises(DataError, match="with classes numbered"):
        wb.read(list(zip(pixels, ["dog", 1, 2, 3], strict=True)))
    assert NumberedPairs([(0, "b"), (0, 3)], ["a", "b"])[1] == (0, 3)


def test_rows_without_a_label_are_an_error() -> None:
    class Unlabelled(Pairs):
        def __getitem__(self, index: int) -> Any:
            return {"image": np.zeros((8, 8, 3), np.uint8), "y": 3}

    with pytest.raises(DataError, match="it has no column 'label', only 'image', 'y'"):
        wb.read(Unlabelled(["a"]))


def test_missing_files_are_an_error_with_their_rows(paths: list[str]) -> None:
    with pytest.raises(DataError, match=r"1 of 1 files is missing \(row 0\): .*nope.jpg"):
        wb.read(["nope.jpg"])
    with pytest.raises(DataError, match=r"2 of 6 files are missing \(rows 4, 5\)"):
        wb.read([*paths, "gone.png", "lost.png"])
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"path": ["nope.jpg", *paths], "label": 5 * [0]})
    with pytest.raises(DataError, match=r"1 of 5 files is missing \(row 0\)"):
        wb.Workbench(frame, restore=False)


def test_a_file_that_disappears_is_named_and_not_identical(paths: list[str]) -> None:
    read = wb.read(paths).decode().resize(size=(8, 8))
    # Not in its workbench: the first preview may have read the file before it disappears.
    with closing(wb.Workbench(paths, wb.load_recipe("rotate-jitter"), restore=False)) as w:
        Path(paths[1]).unlink()
        with pytest.warns(UserWarning, match="1 of 4 samples cannot be used"):
            assert paths[1] in str(read.batch(0, samples=4))
        report = w.verify(batches=1)
    assert not report.exact
    assert "identical" not in str(report)
    assert paths[1] in str(report)


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("list.txt", "{0} 0\n\nnope.jpg 1\n{1} 1\ngone.jpg 0\n", r"2 of 4 .*\(rows 3, 5\)"),
        ("list.txt", "{0} 0\nunlabelled\nmy nope.jpg 1\n", r"1 of 2 .*\(row 3\)"),
        ("list.csv", "{0},dog\nnope.jpg,cat\n", r"1 of 2 .*\(row 2\)"),
        ("list.lst", "nope.jpg dog\n{0} cat\n", r"1 of 2 .*\(row 1\)"),
        ("list.csv", "path,label\n{0},dog\n\n,cat\nnope.jpg,cat\n", r"1 of 2 .*\(row 5\)"),
    ],
)
@pytest.mark.parametrize("kind", ["", "request:"])
def test_missing_files_of_a_text_list_are_named_with_their_rows(
    paths: list[str], tmp_path: Path, kind: str, name: str, text: str, rows: str
) -> None:
    (tmp_path / name).write_text(text.format(*paths))
    with pytest.raises(DataError, match=rf"{rows}.*: .*nope.jpg"):
        wb.read(f"{kind}{tmp_path / name}")


def test_missing_files_of_a_list_of_arrays_are_named_with_their_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((4, 4, 3), np.uint8))
    (tmp_path / "arrays.txt").write_text("a.npy 0\nnope.npy 1\n")
    with pytest.raises(DataError, match=r"1 of 2 files in .*arrays.txt is missing \(row 2\)"):
        wb.read(str(tmp_path / "arrays.txt"))


def test_missing_files_of_a_long_list_in_python_are_named_with_their_rows(
    paths: list[str],
) -> None:
    many = [paths[0]] * 10_000
    with pytest.raises(DataError, match=r"1 of 10,001 files is missing \(row 10000\)"):
        wb.read([*many, "nope.jpg"])
    with pytest.raises(DataError, match=r"1 of 10,001 files is missing \(row 0\)"):
        wb.read([("nope.jpg", "dog"), *((path, "cat") for path in many)])
