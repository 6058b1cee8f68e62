"""The files of archives: as ``tarfile`` finds them, and behind a damage."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.helpers import chain_graph
from tests.sources.test_init import a_graph
from tests.sources.written import read_photos, write_webdataset
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit import emit_stage
from workbench.engine import Engine
from workbench.engine.reading.reader_cursor import ReadBatch, ReaderCursor
from workbench.errors import CancelledError, DataError
from workbench.graph import Port, Settings
from workbench.graph.edits.edit import set_arg
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.resolved import ResolvedGraph
from workbench.health import check_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.records import add_to_tar, encode_example, encode_tfrecord
from workbench.sources import (
    Dataset,
    SourceKind,
    list_samples,
    load_source,
    open_dataset,
    require_dataset,
    write_remaining,
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
        ({"0.cls": b"1"}, "the first samples can be used .1 checked; 0: it has no image"),
        (
            {"0.jpg": JPEG, "0.cls": b"dog"},
            "its component 'cls' is 'dog'.* digits, without a line break",
        ),
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
    assert all("but no file of this size starts" in each.fault for each in found[3:])
    rest = write_remaining(data, {each.name for each in found if each.fault}, tmp_path / "rest")
    assert [each.name for each in list_samples(open_dataset(rest))] == [
        each.name for each in found if not each.fault
    ]


def test_an_index_with_another_number_than_it_says_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tar", {f"{number}.jpg": JPEG for number in range(6)})
    data = open_dataset(indexed(path, index_lines(path)[:4], count=6))
    with pytest.raises(DataError, match="declares 6 samples but has 4"):
        require_dataset(data)
    for text in ("", "v9 6\n", "v1.2 6\n"):
        path.with_suffix(".idx").write_text(text)
        with pytest.raises(DataError, match="is not a WebDataset index"):
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
    monkeypatch.setattr(_record_index, "_REPORT_INTERVAL", 1)
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
    with pytest.raises(DataError, match="an index cannot store file names with spaces"):
        kind.make_index(data, lambda count: None)
    assert kind.find_indexed(data, tmp_path) is None


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_files_of_an_archive_are_those_that_tarfile_finds(tmp_path: Path, kind: int) -> None:
    long = "long/" + "n" * 90 + "/" + "m" * 90 + ".jpg"
    names = ["a.jpg", "a.cls", "folder/b.jpg", long, "c.jpg", "ä.jpg"]
    with tarfile.open(tmp_path / "a.tar", "w", format=kind) as archive:
        for name in names:
            add_to_tar(archive, name, JPEG * (1 + len(name) * 40))
        folder = tarfile.TarInfo("empty")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        add_to_tar(archive, "d.jpg", JPEG)
    with tarfile.open(tmp_path / "a.tar") as archive:
        expected = [(m.name, m.offset_data, m.size) for m in archive if m.isfile()]
    assert [name for name, *_ in expected] == [*names, "d.jpg"]
    assert list(files_in_tar(str(tmp_path / "a.tar"))) == expected


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_behind_a_damage_are_found_of_any_kind(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "a.tar"
    names = ["a.jpg", "n/" * 60 + "d.jpg", "ö.jpg", "b.jpg", "m/" * 60 + "e.jpg", "c.jpg"]
    with tarfile.open(path, "w", format=kind) as archive:
        for name in names:
            add_to_tar(archive, name, JPEG * 300)
    with tarfile.open(path) as archive:
        members = [TarFile(m.name, m.offset_data, m.size) for m in archive]
        offset = archive.getmember("b.jpg").offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 512] = b"\x85" * 512
    path.write_bytes(content)
    found = list(files_in_tar(str(path)))
    assert [each for each in found if isinstance(each, TarFile)] == [*members[:3], *members[4:]]
    (damage,) = (each for each in found if isinstance(each, TarDamage))
    assert damage.at == offset


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b" * 900, b"short"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a tar archive"):
        list(files_in_tar(str(path)))


# Archives and records are grouped as DALI does, and compressed ones are named.


def photo() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), 90, np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def archive(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as opened:
        for name in names:
            content = b"1" if name.lower().endswith("cls") else photo()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.parametrize("hidden", ["._0.jpg", ".DS_Store", "a/._0.jpg"])
def test_a_hidden_first_file_of_an_archive_is_bad(tmp_path: Path, hidden: str) -> None:
    path = archive(tmp_path / "a.tar", hidden, "a/0.jpg", "a/0.cls", "a/1.jpg", "a/1.cls")
    found = check_folder(str(path), full=False)
    assert [one.file.rsplit(":", 1)[1] for one in found.bad] == [hidden]
    assert found.count == 2
    later = archive(tmp_path / "b.tar", "a/0.jpg", "a/0.cls", hidden, "a/1.jpg", "a/1.cls")
    assert not check_folder(str(later), full=False).bad


def test_of_a_component_that_is_there_several_times_the_others_are_named(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", "0.jpg", "0.jpg", "0.png", "0.cls")
    found = check_folder(str(path), full=False)
    assert (found.count, len(found.bad)) == (1, 2)
    assert "DALI reads only the first" in found.bad[0].reason
    first = next(iter(list_samples(open_dataset(path))))
    assert first.offset == tarfile.BLOCKSIZE


def test_components_in_capitals_are_read(tmp_path: Path) -> None:
    from workbench.catalog import load_catalog
    from workbench.sources import load_source

    path = archive(tmp_path / "a.tar", "0.JPG", "0.CLS")
    assert not check_folder(str(path), full=False).bad
    assert "case_sensitive_extensions" in load_catalog()["readers.webdataset"].args
    assert 'options.setdefault("case_sensitive_extensions", False)' in (
        load_source("webdataset").find_source
    )


@pytest.mark.parametrize(
    ("name", "compress"),
    [("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)],
)
def test_compressed_files_are_named(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    plain = archive(tmp_path / "plain.tar", "0.jpg", "0.cls").read_bytes()
    for file in ("a.tar", "a.tar.gz", "a.tfrecord"):
        path = tmp_path / file
        path.write_bytes(compress(plain))
        with pytest.raises(DataError, match=rf"compressed \({name}\)") as raised:
            require_dataset(open_dataset(path))
        unpacked = run_advice(str(raised.value))
        assert unpacked.read_bytes() == plain
        assert file.endswith("rd") or unpacked.suffix == ".tar"


def run_advice(message: str) -> Path:
    """Run the command that a message ends with, and return the file that it writes."""
    command = message.partition("Decompress it: ")[2].removesuffix(".")
    subprocess.run(command, shell=True, check=True)
    return Path(command.rpartition(" > ")[2])


def test_records_that_tensorflow_compressed_with_zlib_are_named(tmp_path: Path) -> None:
    record = encode_tfrecord(encode_example({"image": photo(), "label": [1]}))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(zlib.compress(record))
    for kind in ("", "tfrecord_features:"):
        with pytest.raises(DataError, match=r"compressed \(zlib\)") as raised:
            require_dataset(open_dataset(f"{kind}{path}"))
    require_dataset(open_dataset(run_advice(str(raised.value))))


def test_two_labels_in_a_record_are_a_fault(tmp_path: Path) -> None:
    good = encode_tfrecord(encode_example({"image": photo(), "label": [1]}))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(
        good + encode_tfrecord(encode_example({"image": photo(), "label": [1, 2]})) + good
    )
    (bad,) = check_folder(str(path), full=False).bad
    assert "its feature 'label' has 2 values" in bad.reason


# Archives that are damaged, cut short or longer than they say: what is lost is named.


@pytest.fixture
def damaged_archive(photos: Path, tmp_path: Path) -> Path:
    """Ten samples ``0000.jpg, 0000.cls``; tests damage their headers."""
    path = tmp_path / "damaged" / "a.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for number, (image, label) in enumerate(read_photos(photos)[:10]):
            add_to_tar(archive, f"{number:04}.jpg", image)
            add_to_tar(archive, f"{number:04}.cls", str(label).encode())
    return path


@pytest.mark.parametrize(
    ("broken", "lost"),
    one_in(
        3,
        [
            (["0004.jpg"], {"0004.cls": "it has no image"}),
            (["0004.cls"], {"0004.jpg": "it has no component 'cls'"}),
            (["0004.jpg", "0004.cls"], {}),
            (["0000.jpg"], {"0000.cls": "it has no image"}),
            (["0009.cls"], {"0009.jpg": "it has no component 'cls'"}),
            (
                ["0002.cls", "0003.jpg", "0007.jpg"],
                dict.fromkeys(["0002.jpg", "0003.cls", "0007.cls"]),
            ),
        ],
        first=2,
    ),
    ids=lambda value: " ".join(value) or "none",
)
def test_damage_in_an_archive_costs_the_samples_that_it_hits(
    broken: list[str], lost: dict[str, str | None], engine: Engine, damaged_archive: Path
) -> None:
    """``tarfile`` takes a header that is none for the end; DALI names neither file nor place."""
    path = damaged_archive
    whole = {each.name for each in list_samples(open_dataset(path))}
    with tarfile.open(path) as archive:
        headers = {member.name: member.offset for member in archive}
    content = bytearray(path.read_bytes())
    for name in broken:
        content[headers[name] : headers[name] + 512] = b"\xff" * 512
    path.write_bytes(content)
    found = {each.name: each.fault for each in list_samples(open_dataset(path))}
    hit = {name[:4] for name in broken}
    expected = {name for name in whole if name.rpartition(":")[2][:4] not in hit}
    assert {name for name, fault in found.items() if not fault} == expected
    faults = {name.rpartition(":")[2]: fault for name, fault in found.items() if fault}
    damages = [fault for name, fault in faults.items() if name == "damaged"]
    assert all("archive is damaged at byte" in fault for fault in damages)
    assert {name for name in faults if name != "damaged"} == lost.keys()
    assert all(words in faults[name] for name, words in lost.items() if words)
    assert {one.file for one in check_folder(str(path), full=False).bad} == {
        name for name, fault in found.items() if fault
    }
    told = Verifier(a_graph(shuffled=False), str(path), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == len(found) - len(expected)
    shown = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert f"{len(told.left_out)} " in shown.note
    assert not any(each.sample.error for each in shown.tiles)


@pytest.mark.parametrize("at", one_in(3, [0.1, 0.5, 0.93], first=1))
def test_an_archive_that_is_cut_short_costs_its_last_sample(
    at: float, engine: Engine, damaged_archive: Path
) -> None:
    path = damaged_archive
    whole = [each.name for each in list_samples(open_dataset(path))]
    with tarfile.open(path) as archive:
        ends = {m.name: m.offset_data + m.size for m in archive}
    content = path.read_bytes()
    cut = int(len(content) * at) + 7
    path.write_bytes(content[:cut])
    found = list(list_samples(open_dataset(path)))
    left = [name for name in whole if ends[name.rpartition(":")[2].replace("jpg", "cls")] <= cut]
    assert [each.name for each in found if not each.fault] == left
    assert "archive is damaged at byte" in found[-1].fault
    told = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert [one.file for one in told.left_out] == [each.name for each in found if each.fault]


def test_files_behind_the_end_of_an_archive_are_told(engine: Engine, damaged_archive: Path) -> None:
    """As of two archives that were put together; DALI reads the first."""
    path = damaged_archive
    content = path.read_bytes()
    path.write_bytes(content * 2)
    found = list(list_samples(open_dataset(path)))
    assert [each.name.endswith(":damaged") for each in found] == [n == 10 for n in range(21)]
    told = Verifier(a_graph(shuffled=False), str(path), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == 1


def test_a_header_with_another_size_is_not_believed(damaged_archive: Path) -> None:
    """It would lead over samples that are whole."""
    path = damaged_archive
    with tarfile.open(path) as archive:
        headers = {member.name: member.offset for member in archive}
    content = bytearray(path.read_bytes())
    at = headers["0004.jpg"]
    content[at + 124 : at + 136] = b"%011o\0" % (headers["0006.jpg"] - at)
    path.write_bytes(content)
    faults = [
        each.name.rpartition(":")[2] for each in list_samples(open_dataset(path)) if each.fault
    ]
    assert faults == ["damaged", "0004.cls"]


def test_an_archive_among_others_that_is_none_is_named_and_left_out(
    shapes: Path, engine: Engine, tmp_path: Path
) -> None:
    for name in "abc":
        shutil.copy(shapes / "webdataset" / "samples-000000.tar", tmp_path / f"{name}.tar")
    (tmp_path / "b.tar").write_bytes(b"\xff" * 4096)
    data = str(tmp_path)
    (lost,) = (each for each in list_samples(open_dataset(data)) if each.fault)
    assert lost.name == "b.tar:0:damaged"
    assert "b.tar cannot be read as a tar archive" in lost.fault
    told = Verifier(a_graph(shuffled=False), data, 2, engine=engine).run()
    assert told.exact, told.lines()
    assert [each.file for each in told.left_out] == [lost.name]
