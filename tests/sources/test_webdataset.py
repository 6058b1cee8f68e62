from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import chain_graph
from tests.sources.written import read_photos, write_webdataset
from workbench.catalog import load_catalog
from workbench.emit import emit_stage
from workbench.engine.reading.reader_cursor import ReadBatch, ReaderCursor
from workbench.errors import CancelledError, DataError
from workbench.graph import Port, Settings
from workbench.graph.edits.edit import set_arg
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.resolved import ResolvedGraph
from workbench.samples.records import add_to_tar
from workbench.sources import (
    Dataset,
    SourceKind,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
    write_without,
)
from workbench.sources.kinds.records import _record_index, _tar_samples
from workbench.sources.kinds.records._tar_samples import (
    TarDamage,
    TarFile,
    files_in_tar,
    with_component,
)

JPEG = b"\xff\xd8\xff\xd9"


def write(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            add_to_tar(archive, name, content)
    return path


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "is empty"),
        ({"0.cls": b"1"}, "of the sample 0, .* it has no image"),
        ({"0.jpg": JPEG, "0.cls": b"dog"}, "its cls is 'dog'.* digits alone"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(write(tmp_path / "a.tar", files)))


def indexed(path: Path, lines: list[str], count: int | None = None) -> Path:
    text = [f"v1.2 {len(lines) if count is None else count}", *lines]
    path.with_suffix(".idx").write_text("".join(f"{line}\n" for line in text))
    return path


def index_lines(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return [f"jpg {m.offset_data} {m.size} {m.name}" for m in archive]


def test_a_place_in_an_index_at_which_no_file_begins_is_at_fault(tmp_path: Path) -> None:
    """The reader would take what is there for the image."""
    path = write(tmp_path / "a.tar", {f"{number}.jpg": JPEG for number in range(6)})
    lines = index_lines(path)
    del lines[4]  # which is left out
    lines[2] = "jpg 2048 4 2.jpg"  # its header
    lines[3] = lines[3].replace(" 4 ", " 400 ")
    data = open_dataset(indexed(path, lines))
    require_dataset(data)
    found = list(list_samples(data))
    assert [each.name for each in found if not each.fault] == [
        f"a.tar:{number * 1024 + 512}:{number}.jpg" for number in (0, 1, 5)
    ]
    assert [each.offset for each in found if each.fault] == [2048, 3 * 1024 + 512]
    assert all("where none of this size begins" in each.fault for each in found[3:])
    rest = write_without(data, {each.name for each in found if each.fault}, tmp_path / "rest")
    assert [each.name for each in list_samples(open_dataset(rest))] == [
        each.name for each in found if not each.fault
    ]


def test_an_index_with_another_number_than_it_says_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", {f"{number}.jpg": JPEG for number in range(6)})
    data = open_dataset(indexed(path, index_lines(path)[:4], count=6))
    with pytest.raises(DataError, match="begins with the number 6, and has 4 samples"):
        require_dataset(data)
    for text in ("", "v9 6\n", "v1.2 6\n"):
        path.with_suffix(".idx").write_text(text)
        with pytest.raises(DataError, match="is no index of a WebDataset"):
            require_dataset(data)


def test_an_archive_that_is_damaged_among_its_first_samples_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", {"0.jpg": JPEG, "1.jpg": JPEG, "2.jpg": JPEG, "3.jpg": JPEG})
    content = bytearray(path.read_bytes())
    content[2 * 1024 : 2 * 1024 + 512] = b"\7" * 512
    path.write_bytes(content)
    require_dataset(open_dataset(path))
    first, second, lost, last = list_samples(open_dataset(path))
    assert [each.name for each in (first, second, last)] == [
        f"a.tar:{number * 1024 + 512}:{number}.jpg" for number in (0, 1, 3)
    ]
    assert "damaged at byte 2,048" in lost.fault
    assert [each for each in (first, second, last) if each.fault] == []


def test_targets_beside_images_are_found_without_reading_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"{n}.{end}": JPEG for n in range(9) for end in ("jpg", "json") if (n, end) != (2, "json")
    }
    path = write(tmp_path / "a.tar", files)
    read: list[str] = []

    def watched(path: str) -> Iterator[TarFile | TarDamage]:
        for each in files_in_tar(path):
            read.append(each.name if isinstance(each, TarFile) else "")
            yield each

    samples = list(list_samples(open_dataset(path)))
    monkeypatch.setattr(_tar_samples, "files_in_tar", watched)
    found = list(with_component([samples[n] for n in (1, 2, 4)], "json"))
    assert [bool(place) for _, place in found] == [True, False, True]
    assert read[-1] == "5.jpg"
    with tarfile.open(path) as archive:
        assert found[0][1] == (archive.getmember("1.json").offset_data, len(JPEG))


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SourceKind:
    """Any archive without an index counts as a large one."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(_record_index, "_LARGE", 0)
    monkeypatch.setattr(_record_index, "_TOLD_EACH", 1)
    return load_source("webdataset")


def batches(data: Dataset, numbers: list[int], **options: Any) -> Iterator[ReadBatch]:
    graph = with_datasets(chain_graph(), {"data": data})
    for name, value in options.items():
        graph = set_arg(graph, load_catalog(), "reader", name, value)
    taps = [Port("reader", "jpegs"), Port("reader", "labels")]
    made = emit_stage(ResolvedGraph(graph, load_catalog()), ["reader"], taps, {})
    cursor = ReaderCursor(made.code, graph.sources[0], data, Settings(batch_size=3))
    yield from map(cursor.batch, numbers)
    cursor.close()


def same(ours: ReadBatch, theirs: ReadBatch) -> bool:
    pairs = zip(ours.arrays, theirs.arrays, strict=True)
    equal = all(np.array_equal(a, b) for mine, its in pairs for a, b in zip(mine, its, strict=True))
    return equal and ours.files == theirs.files


def test_the_first_samples_stand_for_all_until_the_index_is_made(
    photos: Path, tmp_path: Path, kind: SourceKind
) -> None:
    data = open_dataset(write_webdataset(read_photos(photos), tmp_path / "shards"))
    assert kind.needs_index(data)
    plain = list(batches(data, [0, 7]))
    assert all(map(same, batches(replace(data, first=6), [0, 7]), plain))

    shuffled = list(batches(data, [0, 7], random_shuffle=True, initial_fill=50))
    (first,) = batches(replace(data, first=3), [0], random_shuffle=True, initial_fill=50)
    assert set(first.files) == set(plain[0].files)

    told: list[int] = []
    kind.make_index(data, told.append)
    assert told == list(range(1, len(list(list_samples(data))) + 1))
    assert not kind.needs_index(data)
    again = batches(data, [0, 7], random_shuffle=True, initial_fill=50)
    assert all(map(same, again, shuffled))
    assert not list((tmp_path / "shards").glob("*.idx"))


def test_an_index_that_is_given_up_leaves_none(
    photos: Path, tmp_path: Path, kind: SourceKind
) -> None:
    data = open_dataset(write_webdataset(read_photos(photos), tmp_path / "shards"))

    def tell(count: int) -> None:
        raise CancelledError("Cancelled.")

    with pytest.raises(CancelledError):
        kind.make_index(data, tell)
    assert kind.needs_index(data)


def test_names_with_blanks_are_left_to_dali(tmp_path: Path, kind: SourceKind) -> None:
    data = open_dataset(write(tmp_path / "a.tar", {"my cat.jpg": JPEG}))
    with pytest.raises(DataError, match="cannot hold the blanks"):
        kind.make_index(data, lambda count: None)
    assert kind.find_indexed(data, tmp_path) is None
