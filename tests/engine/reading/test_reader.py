"""Batches of the reader, their encoded images, and how far a batch may be ahead."""

from __future__ import annotations

import io
import json
import math
import shutil
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.damaged import DAMAGED, REFUSED, make_folder
from tests.helpers import chain_graph, script_batches, with_settings
from tests.sources.written import read_photos, write_coco
from workbench.catalog import load_catalog
from workbench.emit import emit_stage
from workbench.engine.reading import reader_cursor
from workbench.engine.reading.encoded_images import (
    corruption_reason,
    placeholder_jpeg,
    reject_reason,
)
from workbench.engine.reading.reader_cursor import ReaderCursor, require_near, require_room
from workbench.errors import DataError
from workbench.graph import Port
from workbench.graph.edits.edit import set_arg
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Settings
from workbench.graph.resolved import ResolvedGraph
from workbench.samples import records
from workbench.sources import Dataset, list_samples, open_dataset

SIZE, SEED = 3, 42


def cursor_over(data: Path, shuffle: bool = True) -> ReaderCursor:
    dataset = open_dataset(data)
    graph = with_datasets(chain_graph(), {"data": dataset})
    graph = set_arg(graph, load_catalog(), "reader", "random_shuffle", shuffle)
    taps = [Port("reader", "jpegs"), Port("reader", "labels")]
    made = emit_stage(ResolvedGraph(graph, load_catalog()), ["reader"], taps, {})
    (source,) = graph.sources
    settings = Settings(batch_size=SIZE, seed=SEED)
    return ReaderCursor(made.code, source, dataset, settings)


def test_batches_in_any_order_are_those_of_the_script(photos: Path, tmp_path: Path) -> None:
    graph = set_arg(chain_graph(), load_catalog(), "reader", "random_shuffle", True)
    graph = with_settings(graph, batch_size=SIZE, seed=SEED)
    expected = [labels for _, labels in script_batches(graph, photos, 13, tmp_path)]
    cursor = cursor_over(photos)
    for batch in (12, 0, 5, 11, 12, 1):
        read = cursor.batch(batch)
        assert np.array_equal(read.arrays[1], expected[batch]), batch
        for file, encoded in zip(read.files, read.arrays[0], strict=True):
            assert (photos / file).read_bytes() == encoded.tobytes()


def test_a_batch_far_away_is_computed_where_the_order_stays(photos: Path, tmp_path: Path) -> None:
    graph = with_settings(chain_graph(), batch_size=SIZE, seed=SEED)
    graph = set_arg(graph, load_catalog(), "reader", "random_shuffle", False)
    count = len(list(list_samples(open_dataset(photos))))
    period = count // math.gcd(count, SIZE)
    expected = [labels for _, labels in script_batches(graph, photos, 2 * period + 2, tmp_path)]
    cursor = cursor_over(photos, shuffle=False)
    for far in (10**9, 2 * period + 1, period, period - 1, 10**9 + 1):
        near = far if far < len(expected) else far % period
        assert np.array_equal(cursor.batch(far).arrays[1], expected[near]), far


def test_a_batch_far_away_is_refused_where_all_before_it_must_be_read(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_cursor, "_JUDGED_AFTER", 0.0)
    cursor = cursor_over(photos)
    with pytest.raises(
        DataError,
        match=r"Reaching batch 1,000,000,000 would take about [\d,]+ \w+: the reader",
    ):
        cursor.batch(10**9)
    assert len(cursor.batch(12).files) == SIZE


def test_read_arrays_do_not_change_with_the_next_batch(photos: Path) -> None:
    cursor = cursor_over(photos)
    first = cursor.batch(0)
    copies = [array.copy() for array in first.arrays[0]]
    for batch in range(1, 4):
        cursor.batch(batch)
    for mine, its in zip(first.arrays[0], copies, strict=True):
        assert np.array_equal(mine, its)


def test_an_empty_file_keeps_its_place_and_its_neighbours_theirs(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    cursor = cursor_over(bad, shuffle=False)
    read = cursor.batch(0)
    assert cursor.unreadable == {"class/00_empty.jpg": "the file is empty"}
    assert read.files == ("class/00_a.jpg", "class/00_empty.jpg", "class/01_a.jpg")
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    cursor.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_empty_file_changes_no_order_and_no_label(photos: Path, tmp_path: Path) -> None:
    """Also behind links to class folders, which DALI follows."""
    whole, holed = tmp_path / "whole", tmp_path / "holed"
    for data in (whole, holed):
        shutil.copytree(photos / "coffee", data / "b" / "")
        (data / "a").symlink_to(photos / "astronaut")
    hole = holed / "b" / "coffee_03.jpg"
    hole.write_bytes(b"")
    expected, found = cursor_over(whole), cursor_over(holed)
    for batch in range(7):
        one, other = expected.batch(batch), found.batch(batch)
        assert one.files == other.files
        assert np.array_equal(one.arrays[1], other.arrays[1])
    assert set(found.unreadable) == {"b/coffee_03.jpg"}
    found.close()


def test_a_batch_that_would_fill_the_memory_is_refused(photos: Path) -> None:
    require_room(Dataset("folder", str(photos)), 1000)
    with pytest.raises(
        DataError, match=r"encoded files of a batch of 100,000,000 .* GiB.* --memory` names one"
    ):
        require_room(Dataset("folder", str(photos)), 100_000_000)


def test_a_record_that_would_end_the_process_is_left_out_before(
    photos: Path, tmp_path: Path
) -> None:
    """DALI's reader ends in a segmentation fault where an image is a list of numbers."""
    rows: list[Mapping[str, bytes | Sequence[int] | Sequence[float]]] = [
        {"image/encoded": image, "image/class/label": [label]}
        for image, label in read_photos(photos)[:8]
    ]
    rows[5] = {"image/encoded": [1, 2], "image/class/label": [1]}
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(records.encode_tfrecord(records.encode_example(row)) for row in rows))
    cursor = cursor_over(path, shuffle=False)
    read = [array.tobytes() for index in (0, 1) for array in cursor.batch(index).arrays[0]]
    assert read == [row["image/encoded"] for row in rows[:5] + rows[6:7]]
    assert cursor.skipped_text.startswith("1 of its samples cannot be read; the first, a.tfrecord")
    assert "is int64, not bytes as in the first record" in cursor.skipped_text


@pytest.mark.parametrize("change", ["missing", "outside"])
def test_what_is_at_fault_in_annotations_is_told(change: str, photos: Path, tmp_path: Path) -> None:
    """A missing image, which stops the reader, is excluded; a box outside the image is not."""
    path = write_coco(read_photos(photos)[:8], tmp_path / "coco")
    if change == "missing":
        (path.parent / "images" / "000001.jpg").unlink()
    else:
        found = json.loads(path.read_text())
        found["annotations"][0]["bbox"] = [9000, 10, 20, 20]  # of the image 1
        path.write_text(json.dumps(found))
    cursor = cursor_over(path, shuffle=False)
    first = cursor.batch(0)
    missing = change == "missing"
    assert first.files[1] == ("000002.jpg" if missing else "000001.jpg")
    said = "1 of its samples cannot be read" if missing else "1 of its first 8 samples are faulty"
    why = "No such file or directory" if missing else "the box [9000, 10, 20, 20] of its annotation"
    assert cursor.skipped_text.startswith(f"{said}; the first, 000001.jpg: {why}")


def test_an_image_of_another_size_than_annotated_is_told_when_it_is_read(
    photos: Path, tmp_path: Path
) -> None:
    """It is shown with its boxes as stored: either may be wrong."""
    path = write_coco(read_photos(photos)[:8], tmp_path / "coco")
    found = json.loads(path.read_text())
    wide, high = (found["images"][4][side] for side in ("width", "height"))
    found["images"][4] |= {"width": 2 * wide, "height": 2 * high}
    path.write_text(json.dumps(found))
    cursor = cursor_over(path, shuffle=False)
    cursor.batch(0)
    assert not cursor.skipped_text
    cursor.batch(1)
    assert cursor.skipped_text == (
        "1 of 6 images read differ in size from their annotations; the first, 000004.jpg: "
        f"its annotations are for {2 * wide}×{2 * high}, but it is {wide}×{high}"
    )
    assert not cursor.unreadable


def test_a_box_over_the_edge_is_not_an_image_of_another_size(photos: Path, tmp_path: Path) -> None:
    path = write_coco(read_photos(photos)[:4], tmp_path / "coco")
    found = json.loads(path.read_text())
    found["annotations"][0]["bbox"][2] = 10_000
    path.write_text(json.dumps(found))
    cursor = cursor_over(path, shuffle=False)
    cursor.batch(0)
    assert "have a box beyond the edge or without area; the first, " in cursor.skipped_text
    assert "of another size" not in cursor.skipped_text


def test_a_list_may_have_both_a_malformed_row_and_a_missing_file(
    photos: Path, tmp_path: Path
) -> None:
    for number, (image, _) in enumerate(read_photos(photos)[:2]):
        (tmp_path / f"{number}.jpg").write_bytes(image)
    path = tmp_path / "list.txt"
    path.write_text("0.jpg cat\nno label\nmissing.jpg cat\n\nnothing\n1.jpg dog\n")
    cursor = cursor_over(path, shuffle=False)
    assert cursor.batch(0).files == ("0.jpg", "no", "missing.jpg")
    assert cursor.batch(1).files == ("1.jpg", "0.jpg", "no")
    assert [*cursor.unreadable] == ["no", "missing.jpg"]
    assert "list.txt:5: row 5 is ['nothing'], without a path or a label" in cursor.skipped_text


@pytest.fixture(scope="module")
def jpeg(photos: Path) -> bytes:
    return (photos / "cat" / "cat_01.jpg").read_bytes()


@pytest.mark.parametrize("name", REFUSED)
def test_every_kind_is_refused_with_its_reason(name: str, jpeg: bytes) -> None:
    make, words = REFUSED[name]
    reason = reject_reason(make(jpeg))
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize("name", DAMAGED)
def test_what_dali_still_decodes_is_not_refused(name: str, jpeg: bytes) -> None:
    make, words = DAMAGED[name]
    assert reject_reason(make(jpeg)) is None
    assert words in (corruption_reason(make(jpeg)) or "")


def test_good_images_of_all_formats_pass(photos_with_formats: Path) -> None:
    files = sorted((photos_with_formats / "formats").iterdir())
    assert len(files) == 9
    for path in files:
        data = path.read_bytes()
        assert reject_reason(data) is None, path.name
        assert corruption_reason(data) is None, path.name


def test_gray_and_sixteen_bit_and_palette_images_pass() -> None:
    for mode in ("L", "P", "RGBA", "I;16", "1", "LA"):
        buffer = io.BytesIO()
        Image.new(mode, (5, 4)).save(buffer, "PNG")
        assert reject_reason(buffer.getvalue()) is None, mode


@pytest.mark.parametrize("count", [500, 3_000_000])
def test_a_jpeg_with_a_video_behind_its_end_is_whole(count: int, jpeg: bytes) -> None:
    assert corruption_reason(jpeg + b"\0\0\0\x18ftypmp42" + b"\0" * count) is None


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("progressive", [True, False])
def test_a_jpeg_that_is_cut_short_is_told(share: float, progressive: bool, jpeg: bytes) -> None:
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(jpeg)) as image:
        thumbnail = io.BytesIO()
        image.resize((32, 32)).save(thumbnail, "JPEG")
        exif = b"Exif\0\0" + thumbnail.getvalue()  # has an end of its own in the header
        image.save(buffer, "JPEG", progressive=progressive, exif=exif)
    whole = buffer.getvalue()
    assert corruption_reason(whole) is None
    assert "ends early" in (corruption_reason(whole[: int(len(whole) * share)]) or "")


def test_a_photo_of_200_megapixels_passes_and_a_bomb_does_not(jpeg: bytes) -> None:
    limit = Image.MAX_IMAGE_PIXELS
    size = jpeg.index(b"\xff\xc0") + 5
    photo = jpeg[:size] + struct.pack(">HH", 12_240, 16_320) + jpeg[size + 4 :]
    assert reject_reason(photo) is None
    bomb = REFUSED["bomb.png"][0](jpeg)
    expected = (
        "decompression bomb: its header claims 60000 x 60000 pixels; the limit of DALI's decoders "
        "is 1,073,741,824"
    )
    assert str(reject_reason(bomb)).startswith(expected)
    assert limit == Image.MAX_IMAGE_PIXELS, "Pillow stays as the user has it"


@given(st.binary(max_size=300), st.sampled_from(["", "jpeg", "png", "cut", "gif"]))
def test_any_bytes_give_a_reason_or_none(data: bytes, prefix: str) -> None:
    start = {
        "": b"",
        "jpeg": b"\xff\xd8\xff\xe0",
        "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "cut": placeholder_jpeg().tobytes()[:400],
        "gif": b"GIF89a",
    }[prefix]
    for answer in (reject_reason(start + data), corruption_reason(start + data)):
        assert answer is None or answer.strip()


def test_the_stand_in_is_an_image() -> None:
    data = placeholder_jpeg()
    assert (data.dtype, data.ndim) == (np.uint8, 1)
    assert reject_reason(data.tobytes()) is corruption_reason(data.tobytes()) is None
    assert Image.open(io.BytesIO(data.tobytes())).size == (640, 480)


def test_what_is_near_or_just_begun_is_not_refused() -> None:
    require_near(10**9, 10**9, 0, 0, 5.0, "why")
    require_near(10**9, 10**9, 3, 0, 0.1, "why")
    require_near(10**9, 700, 500, 0, 10.0, "why")


@pytest.mark.parametrize(
    ("last", "words"),
    [(5_000, "90 seconds"), (50_000, "16 minutes"), (10**9, "5,556 hours")],
)
def test_what_is_far_is_told_with_what_can_be_reached(last: int, words: str) -> None:
    with pytest.raises(DataError) as told:
        require_near(last, last, 500, 0, 10.0, "why")
    assert str(told.value) == (
        f"Reaching batch {last:,} would take about {words}: why. Use a batch up to about 2,000."
    )
