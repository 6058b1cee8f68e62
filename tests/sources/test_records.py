"""Corrupt samples in the middle of a source: named, counted, and excluded from runs."""

from __future__ import annotations

import importlib
import io
import os
import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.helpers import same, script_batches
from tests.sources.test_init import a_graph
from tests.sources.written import WRITERS, Photos, example, read_photos, write_lmdb
from tests.thorough import one_in
from workbench.cli import main
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.health import check_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples import records
from workbench.samples.records import add_to_tar, encode_datum, encode_tfrecord, field, recorded
from workbench.sources import (
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
    write_remaining,
)
from workbench.sources.kinds.numpy_files import NumpyFiles, array_axes
from workbench.sources.kinds.records import _lmdb_values
from workbench.sources.kinds.records.record_io import find_record_file, scan_record_file
from workbench.sources.kinds.records.tfrecord import scan_records

NO_IMAGE = b"this is no image, and as long as a header would be"
BAD = (3, 4, 9)
"""Places among the photos."""


LMDBS = {"caffe_lmdb", "caffe2_lmdb"}


@pytest.fixture(params=sorted(WRITERS))
def corrupt(request: pytest.FixtureRequest, photos: Path, tmp_path: Path) -> Path:
    """The photos as a source of each kind, with ``BAD`` ones that are no images."""
    found = [
        (NO_IMAGE if number in BAD else image, label)
        for number, (image, label) in enumerate(read_photos(photos))
    ]
    return WRITERS[request.param](found, tmp_path / "corrupt")


FEW = pytest.mark.parametrize("corrupt", one_in(6, sorted(WRITERS), first=2), indirect=True)
"""Every third kind; the others are thorough."""


def good(photos: Path) -> Photos:
    return [each for number, each in enumerate(read_photos(photos)) if number not in BAD]


def test_they_are_named_and_counted(corrupt: Path, photos: Path) -> None:
    names = [each.name for each in list_samples(open_dataset(corrupt))]
    found = check_folder(str(corrupt), full=False)
    assert found.count == len(read_photos(photos))
    assert [one.file for one in found.bad] == [names[number] for number in BAD]
    assert found.counts == {"not an image": len(BAD)}


@FEW
def test_the_others_run_as_without_them(corrupt: Path, photos: Path, tmp_path: Path) -> None:
    if open_dataset(corrupt).in_memory:
        pytest.skip("nothing is written of it: it says which to leave out")
    place = str(tmp_path / "good")
    done = CliRunner().invoke(main, ["check", str(corrupt), "--good", place])
    assert done.exit_code == 1, done.output
    (written,) = (word for word in done.output.split() if word.startswith(place))
    dataset = open_dataset(corrupt)
    rest = open_dataset(written)
    assert rest.kind == dataset.kind
    require_dataset(rest)
    for sample, (image, _) in zip(list_samples(rest), good(photos), strict=True):
        with sample.open() as file:
            assert file.read() == image
    graph = with_datasets(a_graph(shuffled=False), open_datasets(written))
    wanted = WRITERS[dataset.kind](good(photos), tmp_path / "wanted")
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        folder.mkdir()
    ours = script_batches(graph, Path(written), 2, folders[0])
    theirs = script_batches(graph, wanted, 2, folders[1])
    for one, other in zip(ours, theirs, strict=True):
        assert same(one[0], other[0])
        assert dataset.kind == "coco" or same(one[1], other[1])


@FEW
def test_verify_leaves_them_out(corrupt: Path, engine: Engine) -> None:
    found = Verifier(a_graph(shuffled=True), str(corrupt), 2, engine=engine).run()
    assert found.exact, found.lines()
    assert len(found.left_out) == len(BAD)


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_malformed_rows_of_a_list_are_left_out(
    ending: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    found = sorted(photos.rglob("*.jpg"))[:12]
    is_csv = ending == "csv"
    rows = [f"{path}{',' if is_csv else ' '}{path.parent.name}\n" for path in found]
    rows[3:3] = [f"{found[0]}\n"]
    path = tmp_path / f"list.{ending}"
    path.write_text("path,label\n" * is_csv + "".join(rows))
    name = f"list.{ending}:{4 + is_csv}"

    checked = check_folder(str(path), full=False)
    assert [one.file for one in checked.bad] == [name]
    assert checked.count == 13
    assert checked.good_list().count(b"\n") == 12
    assert checked.bad_list() == b""  # it is not a file

    graph = a_graph(shuffled=False)
    shown = preview_batch(engine, PreviewRequest(graph, str(path), tiles=4))
    assert [each.sample.file for each in shown.tiles] == [os.fspath(each) for each in found[:4]]
    assert f"1 of its samples cannot be read; the first, {name}: row" in shown.note
    verified = Verifier(graph, str(path), 2, engine=engine).run()
    assert verified.exact, verified.lines()
    assert [one.file for one in verified.left_out] == [name]


def test_a_record_without_the_features_of_the_others_is_at_fault(tmp_path: Path) -> None:
    whole = encode_tfrecord(example(b"\xff\xd8\xff\xd9", 3))
    text = field(1, b"image/encoded") + field(2, field(2, field(1, b"\0\0\0\0")))
    path = tmp_path / "a.tfrecord"
    path.write_bytes(
        whole + encode_tfrecord(field(1, field(1, text))) + encode_tfrecord(b"\xff" * 9) + whole
    )
    require_dataset(open_dataset(path))
    faults = [each.fault for each in list_samples(open_dataset(path))]
    assert "'image/encoded' is float" in faults[1]
    assert "not a tf.train.Example" in faults[2]
    assert faults[0] == faults[3] == ""


def test_a_sample_without_a_component_is_at_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    files = {"0.jpg": b"0", "0.cls": b"1", "1.jpg": b"1", "2.cls": b"1", "3.jpg": b"3"}
    with tarfile.open(path, "w") as archive:
        for name, content in {**files, "3.cls": b"dog", "4.jpg": b"4", "4.cls": b"2"}.items():
            add_to_tar(archive, name, content)
    require_dataset(open_dataset(path))
    faults = [each.fault for each in list_samples(open_dataset(path))]
    assert faults[0] == faults[4] == ""
    for words, fault in zip(["no component 'cls'", "no image", "dog"], faults[1:4], strict=True):
        assert words in fault


def test_a_record_with_a_damaged_header_is_at_fault(tmp_path: Path) -> None:
    whole = recorded(b"\xff\xd8\xff\xd9", 3)
    damaged = bytearray(whole)
    damaged[8:12] = b"\xff\xff\xff\x7f"  # so many labels would follow
    path = tmp_path / "a.rec"
    path.write_bytes(whole + damaged + recorded(b"\xff\xd8", float("nan")) + whole)
    faults = [each.fault for each in list_samples(open_dataset(path))]
    other = f"its label is nan, which is not an integer. Open record_io_labels:{path} to read it"
    assert faults == ["", "its header is damaged", f"{other} as a float", ""]
    path.write_bytes(recorded(b"\xff\xd8", 0.5) + whole)
    with pytest.raises(
        DataError, match=r"first record, its label is 0\.5, which is not an integer"
    ):
        wb.read(path)
    assert [*wb.read(f"record_io_labels:{path}").outputs] == ["jpegs", "values"]


def test_a_label_that_is_none_is_told_beside_the_preview(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """DALI takes it in silence."""
    found = read_photos(photos)[:8]
    parts = [
        recorded(image, float("nan") if at == 5 else at) for at, (image, _) in enumerate(found)
    ]
    path = tmp_path / "a.rec"
    path.write_bytes(b"".join(parts))
    preview = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert preview.note.startswith("1 of its first 8 samples are faulty; the first, a.rec at")
    assert "its label is nan" in preview.note
    told = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == 1


def test_a_value_without_an_image_is_at_fault(tmp_path: Path) -> None:
    values = [encode_datum(b"\xff\xd8\xff\xd9", 1), b"\x28\x01", b"\xff" * 9, b"\x22\x01\0"]
    found = open_dataset(write_lmdb(values, tmp_path / "lmdb"))
    assert found.kind == "caffe_lmdb"
    faults = [each.fault for each in list_samples(found)]
    assert faults[0] == ""
    assert "no data" in faults[1]
    assert "not a message" in faults[2]
    assert "--encoded" in faults[3]


def test_an_lmdb_that_is_cut_short_is_named(photos: Path, tmp_path: Path) -> None:
    path = WRITERS["caffe_lmdb"](read_photos(photos)[:6], tmp_path / "lmdb")
    file = path / "data.mdb"
    file.write_bytes(file.read_bytes()[: 4 * 4096])
    checked = check_folder(str(path), full=False)
    assert checked.bad
    assert all("cut short" in one.reason for one in checked.bad)


def thumbnails(photos: Path) -> Photos:
    """30 photos; LMDB stores two per leaf."""
    found = []
    for image, label in read_photos(photos)[:30]:
        with Image.open(io.BytesIO(image)) as opened:
            content = io.BytesIO()
            opened.convert("RGB").resize((64, 64)).save(content, "JPEG", quality=50)
        found.append((content.getvalue(), label))
    return found


def damage_leaf(file: Path, damage: bytes) -> None:
    """Overwrite the header of the leaf in the middle of an LMDB: 4096 bytes a page, flags at 10."""
    content = bytearray(file.read_bytes())
    leaves = [at for at in range(2 * 4096, len(content), 4096) if content[at + 10] == 2]
    at = leaves[len(leaves) // 2]
    content[at + 8 : at + 16] = damage
    file.write_bytes(content)


@pytest.mark.parametrize("damage", ["cut short", "a page of zeros"])
@pytest.mark.parametrize("kind", one_in(2, sorted(LMDBS)))
def test_what_would_end_the_process_is_left_out_of_an_lmdb_before(
    kind: str, damage: str, photos: Path, engine: Engine, tmp_path: Path
) -> None:
    """LMDB reads behind the end of a file that is cut short, and asserts that a page is one."""
    path = WRITERS[kind](thumbnails(photos), tmp_path / "lmdb")
    file = path / "data.mdb"
    if damage == "cut short":
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 8 * 7])
    else:
        damage_leaf(file, bytes(8))
    warm = preview_batch(engine, PreviewRequest(a_graph(shuffled=True), str(photos), tiles=4))
    assert not warm.note
    before = engine.pid
    preview = preview_batch(engine, PreviewRequest(a_graph(shuffled=True), str(path), tiles=4))
    assert engine.pid == before
    assert "of its samples cannot be read; the first, lmdb a" in preview.note
    assert not any(each.sample.error for each in preview.tiles)


@pytest.mark.parametrize("kind", one_in(2, sorted(LMDBS)))
def test_values_beyond_the_end_of_an_lmdb_do_not_end_the_worker(
    kind: str, photos: Path, engine: Engine, tmp_path: Path
) -> None:
    path = WRITERS[kind](read_photos(photos)[:12], tmp_path / "lmdb")
    file = path / "data.mdb"
    samples = list(list_samples(open_dataset(path)))
    file.write_bytes(file.read_bytes()[: samples[7].offset])
    shown = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert [tile.sample.file for tile in shown.tiles] == [each.name for each in samples[:4]]
    assert "5 of its samples cannot be read" in shown.note
    assert "its page is damaged or cut short" in shown.note


def test_an_lmdb_without_values_is_refused(tmp_path: Path) -> None:
    data = open_dataset(write_lmdb([encode_datum(b"\xff\xd8\xff\xd9", 1)] * 2, tmp_path / "lmdb"))
    (tmp_path / "rest").mkdir()
    names = {each.name for each in list_samples(data)}
    rest = write_remaining(data, names, tmp_path / "rest" / "none")
    with pytest.raises(DataError, match=r"is empty\. Add images"):
        require_dataset(replace(data, location=os.fspath(rest)))


@pytest.mark.parametrize("kind", one_in(2, sorted(LMDBS)))
def test_a_damaged_page_of_an_lmdb_is_named_and_what_is_before_it_is_there(
    kind: str, photos: Path, engine: Engine, tmp_path: Path
) -> None:
    path = WRITERS[kind](thumbnails(photos), tmp_path / "lmdb")
    whole = [each.name for each in list_samples(open_dataset(path))]
    damage_leaf(path / "data.mdb", b"\xff" * 8)
    found = open_dataset(path)
    assert found.kind == kind
    require_dataset(found)
    samples = list(list_samples(found))
    assert len(samples) == len(whole)
    left = [each.name for each in samples if not each.fault]
    assert 0 < len(left) < len(whole)
    assert left == whole[: len(left)]
    lost, count = samples[len(left)], len(whole) - len(left)
    assert lost.name == f"lmdb after key {len(left) - 1:08} (1 of {count} lost)"
    assert lost.fault == "its page is damaged or cut short"
    told = Verifier(a_graph(shuffled=False), str(path), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == count
    preview = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert f"{count} of its samples cannot be read; the first, {lost.name}" in preview.note
    assert not any(each.sample.error for each in preview.tiles)


def test_without_the_package_lmdb_its_installation_is_named(
    shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else breaks: the samples are written without the two folders."""
    monkeypatch.setattr("workbench.sources.kinds.records.caffe.find_spec", lambda name: None)
    monkeypatch.setattr("workbench.samples.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "lmdb", None)
    importlib.reload(_lmdb_values)
    found = open_dataset(shapes / "caffe")
    with pytest.raises(DataError, match=r"Install it: pip install 'dali-workbench\[lmdb\]'"):
        require_dataset(found)
    done = CliRunner().invoke(main, ["samples", str(tmp_path / "shapes"), "--annotations"])
    assert done.exit_code == 0, done.output
    assert "caffe was not written: pip install 'dali-workbench[lmdb]'." in done.output
    names = {each.name for each in (tmp_path / "shapes").iterdir()}
    assert names == {each.name for each in shapes.iterdir()} - {"caffe", "caffe2"}


@pytest.mark.thorough
def test_any_values_of_an_lmdb_are_left_out(tmp_path: Path) -> None:
    """Also all of them."""
    values = [encode_datum(b"\xff\xd8" + bytes(1200) + b"\xff\xd9", n % 7) for n in range(200)]
    data = open_dataset(write_lmdb(values, tmp_path / "lmdb"))
    whole = [each.name for each in list_samples(data)]
    for number, out in enumerate([whole[3:4], whole[:100], whole[1:], whole[::2], whole]):
        folder = tmp_path / str(number)
        folder.mkdir()
        rest = open_dataset(write_remaining(data, set(out), folder / "rest"))
        left = [each.name for each in list_samples(replace(rest, kind=data.kind))]
        assert left == [name for name in whole if name not in out]
        if left:
            assert _read_by_dali(rest.location) == len(left)


def _read_by_dali(path: str) -> int:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=8, num_threads=1, device_id=None)
    def read() -> Any:
        images, labels = fn.readers.caffe(path=path, name="reader")
        return images, labels

    pipe = read()
    pipe.build()
    count = pipe.epoch_size("reader")
    for _ in range(-(-count // 8)):
        pipe.run()
    return int(count)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "it is empty"), (b"no database" * 99, "not an LMDB"), (b"short", "not an LMDB")],
)
def test_what_is_no_lmdb_is_not_taken_for_a_folder(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "data.mdb").write_bytes(content)
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(tmp_path))


@pytest.mark.parametrize("indexed", one_in(2, [False, True]), ids=["no index", "index"])
@pytest.mark.parametrize("kind", one_in(2, ["tfrecord", "record_io"]))
def test_damage_between_records_is_named_and_left_out(
    kind: str, indexed: bool, photos: Path, engine: Engine, tmp_path: Path
) -> None:
    """The frame of one record is damaged, and the last is cut short: the others are there."""
    data = WRITERS[kind](read_photos(photos), tmp_path / "damaged")
    path = data if data.is_file() else min(data.glob("*.tfrecord"))
    scan = {"tfrecord": scan_records, "record_io": scan_record_file}[kind]
    entries = list(scan(str(path)))
    if indexed:
        lines = "".join(f"{first} {second}\n" for first, second in entries)
        path.with_suffix(".idx").write_text(lines)
    place = 0 if kind == "tfrecord" else 1
    content = bytearray(path.read_bytes())
    at, last = entries[3][place], entries[-1][place]
    content[at : at + 8] = b"\xff" * 8
    path.write_bytes(content[:-50])
    lost = [each for each in list_samples(open_dataset(data)) if each.fault]
    assert [each.name for each in lost] == [f"{path.name} at index {each}" for each in (at, last)]
    assert all("damaged" in each.fault for each in lost)
    assert [each.file for each in check_folder(str(data), full=False).bad] == [
        each.name for each in lost
    ]
    told = Verifier(a_graph(shuffled=False), str(data), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == 2


# A folder with a RecordIO file is that file; with several it says which DALI could read.


def test_a_folder_with_one_file_is_that_file(shapes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    shutil.copytree(shapes / "recordio", folder)
    file = folder / "samples.rec"
    (folder / "samples.lst").write_text("0\t1\tphoto.jpg\n")
    dataset = open_dataset(folder)
    assert dataset.kind == "record_io"
    require_dataset(dataset)
    assert find_record_file(str(folder)) == find_record_file(str(file))
    assert [*list_samples(dataset)] == [*list_samples(open_dataset(file))]
    name = next(list_samples(dataset)).name
    left = open_dataset(write_remaining(dataset, [name], tmp_path / "left"))
    assert [each.name for each in list_samples(left)] == [
        each.name for each in list_samples(dataset) if each.name != name
    ]


def test_of_a_folder_with_several_one_is_to_be_given(shapes: Path, tmp_path: Path) -> None:
    for name in ("train.rec", "val.rec"):
        shutil.copy(shapes / "recordio" / "samples.rec", tmp_path / name)
    with pytest.raises(
        DataError, match=r"2 RecordIO files \(train.rec, val.rec\), but DALI reads only one"
    ):
        require_dataset(open_dataset(tmp_path))


TEXT_LABEL = records.encode_example({"image": b"\xff\xd8\xff\xd9", "image/class": b"dog"})
RECORD = encode_tfrecord(example(b"\xff\xd8\xff\xd9", 3))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tfrecord", b"", "is empty"),
        ("a.tfrecord", RECORD[:-3], "the record at byte 0 is truncated"),
        (
            *("a.tfrecord", encode_tfrecord(example(b"text", 3))),
            r"found: image/class/label \(int64\), image/encoded",
        ),
        (
            *("a.tfrecord", encode_tfrecord(TEXT_LABEL)),
            "the feature 'image/class' of its first record is bytes, but labels must be int64",
        ),
        ("a.rec", b"", "is empty"),
        ("a.rec", recorded(b"1234", 0)[:-2], "the record at byte 0 is truncated"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        require_dataset(open_dataset(path))


# One damaged byte or line in a header or an index: a verdict that names the file.


@pytest.mark.parametrize("first", one_in(4, range(4)))
def test_no_damaged_byte_of_an_array_header_raises(first: int, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((6, 7, 3), np.float32))
    whole = path.read_bytes()
    faults = set()
    for place in range(first, 128, 4):
        for value in (*b"\x00(){}[]',-#\\:9\n\xff", whole[place] ^ 1):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            found = NumpyFiles().read_header(os.fspath(path))
            faults.add(found.fault)
            assert found.fault or min(found.size) > 0
            try:
                assert len(array_axes(os.fspath(path))) in (3, 4)
            except ValueError:
                assert whole != path.read_bytes()
    assert "its header cannot be read" in faults


def test_a_damaged_array_among_good_ones_is_named(tmp_path: Path) -> None:
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.zeros((6, 7, 3), np.uint8))
    content = bytearray((tmp_path / "b.npy").read_bytes())
    content[content.index(b"}")] = ord("x")  # NumPy raises tokenize.TokenError
    (tmp_path / "b.npy").write_bytes(content)
    (bad,) = check_folder(str(tmp_path), full=False).bad
    assert bad.file == "b.npy"
    assert "its header cannot be read" in bad.reason


LINES = ["x 100", "-1 100", "5", "1 2 3", "", f"{2**70} 40", f"40 {2**63}", "1.5 9", "\udcff 1"]


@pytest.mark.parametrize("kind", ["tfrecord", "record_io"])
@pytest.mark.parametrize("line", one_in(3, LINES))
def test_a_damaged_line_of_an_index_is_named(
    kind: str, line: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS[kind](read_photos(photos), tmp_path / "records")
    path = data if data.is_file() else min(data.glob("*.tfrecord"))
    scan = {"tfrecord": scan_records, "record_io": scan_record_file}[kind]
    lines = [f"{first} {second}" for first, second in scan(str(path))]
    lines[3] = line
    index = path.with_suffix(".idx")
    index.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    for read in (require_dataset, lambda dataset: list(list_samples(dataset))):
        with pytest.raises(DataError, match=f"index of .* is damaged: line 4 of {index}"):
            read(open_dataset(data))


@pytest.mark.parametrize("entry", one_in(2, ["0 9000000000000", "9000000000000 40", "3 40", "0 1"]))
def test_an_entry_that_no_record_has_is_a_bad_sample(
    entry: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS["tfrecord"](read_photos(photos), tmp_path / "records")
    path = data if data.is_file() else min(data.glob("*.tfrecord"))
    lines = [f"{offset} {size}" for offset, size in scan_records(str(path))]
    lines[3] = entry
    path.with_suffix(".idx").write_text("\n".join(lines) + "\n")
    (bad,) = [sample for sample in list_samples(open_dataset(data)) if sample.fault]
    assert bad.name == f"{path.name} at index {entry.split()[0]}"


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("tfrecord", "0 99\n"),
        ("record_io", "0\t0\n1\t33\n"),
        ("webdataset", "v1.2 1\njpg 1024 9 0\n"),
    ],
)
def test_the_index_of_another_file_is_named(
    kind: str, index: str, photos: Path, tmp_path: Path
) -> None:
    data = WRITERS[kind](read_photos(photos)[:4], tmp_path / "records")
    path = data if data.is_file() else min(data.iterdir())
    path.with_suffix(".idx").write_text(index)
    for read in (require_dataset, lambda dataset: next(list_samples(dataset))):
        with pytest.raises(DataError, match=r"is the index of another (file|archive)"):
            read(open_dataset(path))
