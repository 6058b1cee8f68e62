from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def
from PIL import Image

import workbench as wb
from workbench.errors import DataError
from workbench.sources import (
    Data,
    class_names,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
    require_dataset,
)
from workbench.sources.kinds.file_list import is_numbered, read_list


def written(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def named(data: Any) -> list[tuple[str, int]]:
    return [(file.name, file.label) for file in list_samples(open_dataset(data))]


def refusal(data: Any) -> str:
    with pytest.raises(DataError) as caught:
        require_dataset(open_dataset(data))
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.txt", "b.jpg 1\na.jpg 0\n"),
        ("list.lst", "b.jpg\t1\r\n\r\na.jpg   0"),
        ("list.txt", "\ufeffb.jpg 1\n  a.jpg 0  \n\n"),
        ("list.csv", "path,label\nb.jpg,1\na.jpg,0\n"),
        ("list.csv", "b.jpg,1\na.jpg,0\n"),
        ("LIST.CSV", "\ufeffpath,label,width\r\nb.jpg, 1,9\r\n\r\na.jpg,0,9\r\n"),
    ],
)
def test_files_of_a_list_keep_their_order(tmp_path: Path, name: str, text: str) -> None:
    data = written(tmp_path / name, text)
    assert named(data) == [("b.jpg", 1), ("a.jpg", 0)]
    assert class_names(open_dataset(data)) == []
    assert open_dataset(data).root == str(tmp_path)


def test_names_with_spaces_and_commas(tmp_path: Path) -> None:
    text = written(tmp_path / "list.txt", "my cat, two.jpg 3\n")
    table = written(tmp_path / "list.csv", 'path,label\n"my cat, two.jpg",3\n')
    assert named(text) == named(table) == [("my cat, two.jpg", 3)]


@pytest.mark.parametrize("label", ["2.9", "7.0", "nan", "1e3"])
def test_numbers_that_are_not_whole_are_no_classes(tmp_path: Path, label: str) -> None:
    data = written(tmp_path / "list.csv", f"path,label\na.jpg,{label}\nb.jpg,7\n")
    assert f"the label '{label}' is not an integer" in refusal(data)


def test_labels_in_words_are_classes_in_alphabetical_order(tmp_path: Path) -> None:
    data = written(tmp_path / "list.csv", "path,label\na.jpg,zebra\nb.jpg,big cat\nc.jpg,zebra\n")
    assert [label for _, label in named(data)] == [1, 0, 1]
    assert class_names(open_dataset(data)) == ["big cat", "zebra"]
    mixed = written(tmp_path / "mixed.txt", "a.jpg 10\nb.jpg cat\n")
    assert class_names(open_dataset(mixed)) == ["10", "cat"]


def test_negative_and_padded_numbers_are_numbers(tmp_path: Path) -> None:
    data = written(tmp_path / "list.txt", "a.jpg -1\nb.jpg 007\n")
    assert named(data) == [("a.jpg", -1), ("b.jpg", 7)]
    assert class_names(open_dataset(data)) == []


def test_relative_paths_start_at_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lists").mkdir()
    written(tmp_path / "lists" / "list.txt", f"../a.jpg 0\n{tmp_path}/b.jpg 0\n")
    monkeypatch.chdir(tmp_path)
    paths = [file.path for file in list_samples(open_dataset("lists/list.txt"))]
    assert [os.path.normpath(path) for path in paths] == [
        str(tmp_path / "a.jpg"),
        str(tmp_path / "b.jpg"),
    ]


def test_lists_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert named(["a.jpg", Path("b.jpg")]) == [(f"{here}/a.jpg", 0), (f"{here}/b.jpg", 0)]
    assert named([("a.jpg", np.int64(4)), ["b.jpg", 2]]) == [
        (f"{here}/a.jpg", 4),
        (f"{here}/b.jpg", 2),
    ]
    pairs = open_dataset([("a.jpg", "dog"), ("b.jpg", "cat")])
    assert [file.label for file in list_samples(pairs)] == [1, 0]
    assert class_names(pairs) == ["cat", "dog"]
    assert str(pairs) == "a list of 2 files"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("list.txt", "a.jpg\nb.jpg\n", "row 1 is ['a.jpg'], without a path or a label"),
        ("list.csv", "path,label\n\nb.jpg\n", "row 3 is ['b.jpg']"),
        ("list.csv", "path,label\na.jpg, \n", "row 2 is ['a.jpg', ' ']"),
        (
            "list.csv",
            "path;label\na.jpg;0\n",
            "separated by ';' instead of ','. Write 'path,label'",
        ),
        ("list.csv", "a.jpg\t0\nb.jpg\t1\n", "separated by '\\t' instead of ','"),
        ("list.csv", "a.jpg;0,5\n", "separated by ';' instead of ','"),
        ("list.txt", "a.jpg,0\nb.jpg,1\n", "separated by ',' instead of ' '. Write 'path label'"),
        ("list.csv", "shot,kind\na.jpg,0\n", "row 1 is 'shot, kind', which is neither a file"),
        ("list.csv", "img001,0\nb.jpg,1\n", "row 1 is 'img001, 0', which is neither a file"),
        ("list.csv", "0,1\na.jpg,0\n", "Write the header path,label"),
        ("list.txt", "path label\na.jpg 0\n", "a text list has no header. Remove row 1."),
        ("list.csv", "path,label\n,7\n", "row 2 is ['', '7']"),
        (
            "list.csv",
            "filename,width,class\na.jpg,640,dog\n",
            "the second column must be 'label' but is 'width'",
        ),
        ("list.csv", "image,cat,dog\na.jpg,1,0\n", "columns: image, cat, dog"),
        ("list.csv", "label,path\n1,a.jpg\n", "Put the labels into the second"),
        ("list.csv", "a.jpg,10,20,90,80,dog\n", "has no header and 6 columns"),
        ("list.txt", "a\0.jpg 0\n", "with a NUL character"),
        ("list.txt", "a.jpg 99999999999\n", "99999999999 does not fit into DALI's 32-bit labels"),
    ],
)
def test_what_is_no_list(tmp_path: Path, name: str, text: str | bytes, words: str) -> None:
    data = written(tmp_path / name, text)
    assert words in refusal(data)
    assert name in refusal(data)


@pytest.mark.parametrize("header", ["path,Label,split", "image_id,species"])
def test_a_header_that_names_the_label_or_has_two_columns(tmp_path: Path, header: str) -> None:
    more = ",train" * (header.count(",") - 1)
    data = written(tmp_path / "list.csv", f"{header}\na.jpg,ant{more}\nb.jpg,bee{more}\n")
    assert [label for _, label in named(data)] == [0, 1]


@pytest.mark.parametrize("first", ["img001,0", "0001,cat", "a_b,0"])
def test_a_first_row_without_an_ending_is_no_header(tmp_path: Path, first: str) -> None:
    names = [first.partition(",")[0], "img002"]
    for name in names:
        Image.new("RGB", (8, 8)).save(tmp_path / name, "PNG")
    path = tmp_path / "list.csv"
    path.write_text(f"{first}\nimg002,{first.partition(',')[2]}\n")
    assert [each.name for each in list_samples(open_dataset(path))] == names
    assert [os.path.basename(each) for each in exported()(str(path))["files"]] == names
    (tmp_path / names[0]).rename(tmp_path / f"{names[0]}.png")
    words = f"{names[0]}.png exists: add the ending"
    with pytest.raises(DataError, match=words):
        wb.read(str(path))
    (bad,) = wb.check_folder(path, full=False).bad
    assert words in bad.reason


def test_a_header_that_may_be_a_file_is_an_error(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "image", "PNG")
    data = written(tmp_path / "list.csv", "image,dog\nimage2,cat\n")
    assert "row 1 is 'image, dog', either a header or the file named 'image'" in refusal(data)


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("list.txt", "a.jpg dog\nb.jpg\n\nc.jpg cat\n", 2),
        ("list.txt", "a.jpg dog\n\nb\0.jpg cow\nc.jpg cat\n", 3),
        ("list.csv", "path,label\na.jpg,dog\nb.jpg, \nc.jpg,cat\n", 3),
        ("list.csv", "path,label\n,cow\na.jpg,dog\nc.jpg,cat\n", 2),
    ],
)
def test_a_malformed_row_is_at_fault_and_the_others_are_read(
    tmp_path: Path, name: str, text: str, number: int
) -> None:
    dataset = open_dataset(written(tmp_path / name, text))
    require_dataset(dataset)
    assert class_names(dataset) == ["cat", "dog"]
    *others, malformed = list_samples(dataset)
    assert [(each.name, each.label, each.fault) for each in others] == [
        ("a.jpg", 1, ""),
        ("c.jpg", 0, ""),
    ]
    assert malformed.name == f"{name}:{number}"
    assert malformed.fault.startswith(f"row {number} is [")


def test_lists_that_are_missing_or_empty(tmp_path: Path) -> None:
    assert "There is no list of files" in refusal(tmp_path / "missing.csv")
    (tmp_path / "pipe.txt").symlink_to(os.devnull)
    assert "is not a file" in refusal(tmp_path / "pipe.txt")
    for name, text in (("empty.txt", ""), ("header.csv", "path,label\n")):
        dataset = open_dataset(written(tmp_path / name, text))
        assert list(list_samples(dataset)) == []
        assert "names no file. Add lines of the form 'path label'" in no_files_reason(dataset)


def exported() -> Callable[[Any], dict[str, Any]]:
    kind = load_source("file_list")
    imports = "\n".join(f"import {module}" for module in kind.imports)
    namespace: dict[str, Any] = {}
    exec(f"{imports}\nfrom typing import Any\n{kind.find_source}", namespace)
    function: Callable[[Any], dict[str, Any]] = namespace["read_list"]
    return function


def test_the_exported_function_runs_by_itself(tmp_path: Path) -> None:
    table = written(tmp_path / "list.csv", "path,label\nb.jpg,cat\na.jpg,ant\n")
    lists: list[Data] = [table, ["a.jpg"], [("a.jpg", "x"), ("b.jpg", "w")]]
    for data in lists:
        assert isinstance(data, str | list)
        argument = open_dataset(data).argument
        assert exported()(argument) == read_list(argument)
    with pytest.raises(ValueError, match="row 1"):
        exported()(written(tmp_path / "bad.txt", "a.jpg\n"))


@pytest.mark.parametrize("form", ["text", "csv", "pairs"])
def test_dali_reads_the_files_in_that_order(photos: Path, tmp_path: Path, form: str) -> None:
    some = sorted(photos.rglob("*.jpg"))[::9][::-1]
    rows = [(os.path.relpath(path, tmp_path), label - 1) for label, path in enumerate(some)]
    data: Any = [(path, label - 1) for label, path in enumerate(some)]
    if form == "text":
        data = written(tmp_path / "l.txt", "".join(f"{path} {n}\n" for path, n in rows))
    elif form == "csv":
        data = written(
            tmp_path / "l.csv", "path,label\n" + "".join(f"{path},{n}\n" for path, n in rows)
        )

    @pipeline_def(batch_size=len(some), num_threads=1, device_id=None)
    def pipeline() -> Any:
        jpegs, labels = fn.readers.file(**read_list(open_dataset(data).argument))
        return jpegs, labels

    built = pipeline()
    built.build()
    jpegs, labels = built.run()
    assert [bytes(np.array(jpeg)) for jpeg in jpegs] == [path.read_bytes() for path in some]
    assert [int(np.array(label)[0]) for label in labels] == list(range(-1, len(some) - 1))


@pytest.mark.parametrize(
    ("text", "numbered"),
    [
        ("b.jpg 1\nmy cat.jpg 12\n", True),
        ("b.jpg  1\r\na.jpg 0", True),
        ("\ufeffb.jpg 1\n", False),
        ("b.jpg\t1\n", False),
        ("b.jpg -1\n", False),
        ("b.jpg cat\n", False),
        (" b.jpg 1\n", False),
        ("b.jpg 1\n\na.jpg 0\n", False),
        ("b.jpg 9999999999\n", False),
        ("1\n", False),
    ],
)
def test_dali_reads_a_list_of_paths_and_numbers_by_itself(
    tmp_path: Path, text: str, numbered: bool
) -> None:
    data = written(tmp_path / "list.txt", text)
    assert is_numbered(data) is numbered
    if numbered:
        assert read_list(data) == {"file_root": str(tmp_path), "file_list": data}
        for name, _ in named(data):
            Path(tmp_path, name).write_bytes(b"content")

        @pipeline_def(batch_size=len(named(data)), num_threads=1, device_id=None)
        def stage() -> Any:
            files, labels = fn.readers.file(**read_list(data))
            return files, labels

        files, labels = stage().run()
        read = [files[at].source_info() for at in range(len(files))]
        assert list(zip(read, labels.as_array().ravel(), strict=True)) == named(data)


def test_a_list_that_was_changed_is_looked_through_again(tmp_path: Path) -> None:
    data = written(tmp_path / "list.txt", "a.jpg cat\n")
    assert class_names(open_dataset(data)) == ["cat"]
    written(tmp_path / "list.txt", "a.jpg mouse\n")
    assert class_names(open_dataset(data)) == ["mouse"]


@pytest.fixture
def own_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def labels_read(data: Any, count: int) -> tuple[list[str], list[int]]:
    """What DALI reads: the path and the label of each."""

    @pipeline_def(batch_size=count, num_threads=1, device_id=None)
    def pipeline() -> Any:
        return tuple(fn.readers.file(**read_list(data)))

    encoded, labels = pipeline().run()
    return [each.source_info() for each in encoded], [int(np.asarray(each)[0]) for each in labels]


MANY = 12_000


@pytest.mark.parametrize("label", ["class {}", "{}"])
def test_many_rows_are_given_to_dali_as_a_numbered_list(
    tmp_path: Path, own_temporary: Path, label: str
) -> None:
    photos = [written(tmp_path / f"{n} of 7.jpg", b"photo") for n in range(7)]
    rows = [(photos[n % 7], label.format(n % 11)) for n in range(MANY)]
    table = "path,label\n" + "".join(f"{os.path.basename(p)},{row}\n" for p, row in rows)
    data = written(tmp_path / "list.csv", table)
    assert set(read_list(data)) == {"file_root", "file_list"}
    samples = list(list_samples(open_dataset(data)))
    names, labels = labels_read(data, 100)
    assert names == [os.path.relpath(sample.path, tmp_path) for sample in samples[:100]]
    assert labels == [sample.label for sample in samples[:100]]

    given = open_dataset(rows)
    assert given.location.startswith(str(own_temporary))
    assert str(given) == f"a list of {MANY:,} files"
    assert [(s.path, s.label) for s in list_samples(given)] == [(s.path, s.label) for s in samples]
    assert class_names(given) == class_names(open_dataset(data))
    assert open_dataset(list(rows)) == given


@pytest.mark.parametrize("odd", ["/a  b.jpg", "/ a\tb.jpg", "/a\nb 1.jpg", "/a.jpg\r"])
def test_names_that_no_numbered_list_holds_stay_arguments(own_temporary: Path, odd: str) -> None:
    rows = [("/photo.jpg", 0)] * MANY + [(odd, 1)]
    dataset = open_dataset(rows)
    assert dataset.location == ""
    assert read_list(dataset.argument)["files"][-1] == odd
    assert not list(own_temporary.rglob("*.txt"))


def test_a_label_below_zero_stays_an_argument(own_temporary: Path) -> None:
    rows = [("/photo.jpg", 0)] * MANY + [("/photo.jpg", -1)]
    assert read_list(open_dataset(rows).argument)["labels"][-1] == -1


def test_names_beside_a_numbered_list_are_its_classes(tmp_path: Path) -> None:
    data = written(tmp_path / "train.txt", "a.jpg 0\nb.jpg 1\n")
    written(tmp_path / "train.names", "cat\ndog\n")
    assert class_names(open_dataset(data)) == ["cat", "dog"]
    assert named(data) == [("a.jpg", 0), ("b.jpg", 1)]


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    data = written(tmp_path / "train.txt", "a.jpg 0\n")
    written(tmp_path / "train.names", b"\xff\xfe")
    with pytest.raises(DataError, match=r"train\.names cannot be read as class names"):
        class_names(open_dataset(data))
