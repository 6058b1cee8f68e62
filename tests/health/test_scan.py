import json
import os
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from workbench.errors import DataError
from workbench.health import scan_folder
from workbench.sources import list_samples, open_dataset
from workbench.ui.data.data_texts import fault_text, sizes_text


def area(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def test_the_sample_photos(photos: Path) -> None:
    facts = scan_folder(str(photos))
    assert facts.count == len(list(photos.rglob("*.jpg")))
    assert facts.classes == tuple(sorted(path.name for path in photos.iterdir()))
    assert facts.formats == {"JPEG": facts.count}
    size = sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    with Image.open(next(photos.rglob("*.jpg"))) as image:
        assert facts.smallest
        assert facts.largest
        assert area(facts.smallest) <= area(image.size) <= area(facts.largest)
    assert facts.megabytes == pytest.approx(size / 1e6, abs=0.1)


def test_only_what_the_reader_reads_counts(tmp_path: Path) -> None:
    for name in ("a/x.jpg", "a/y.PNG", "a/notes.txt", "a/deep/z.jpg", "b/w.webp", "top.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert sorted(Path(file.name).name for file in list_samples(open_dataset(tmp_path))) == [
        "w.webp",
        "x.jpg",
        "y.PNG",
    ]
    assert scan_folder(str(tmp_path)).formats == {"JPEG": 1, "PNG": 1, "WebP": 1}


def test_a_flat_folder_and_a_dangling_link(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"x")
    (tmp_path / "gone.jpg").symlink_to(tmp_path / "nowhere")
    facts = scan_folder(str(tmp_path))
    assert facts.count == 2
    assert facts.classes == ()
    assert facts.smallest is facts.largest is None


def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no folder"):
        scan_folder(str(tmp_path / "missing"))
    with pytest.raises(DataError, match="is empty"):
        scan_folder(str(tmp_path))
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is a file"):
        scan_folder(str(tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0)
    with pytest.raises(DataError, match="a cannot be listed"):
        scan_folder(str(tmp_path))


def test_sizes_of_one_area_are_told_apart(tmp_path: Path) -> None:
    for number, size in enumerate([(32, 24), (24, 32), (32, 24)]):
        Image.effect_noise(size, 64).save(tmp_path / f"{number}.png")
    facts = scan_folder(str(tmp_path))
    assert sizes_text(facts) == "24×32 … 32×24"
    assert facts.size_counts == {"24×32": 1, "32×24": 2}
    assert 0 < facts.megabytes < 0.1


def test_sizes_are_counted_each_or_by_the_longer_side(tmp_path: Path) -> None:
    for number, size in enumerate([(40, 30), (40, 30), (30, 40)]):
        Image.new("RGB", size).save(tmp_path / f"{number}.png")
    assert scan_folder(tmp_path).size_counts == {"40×30": 2, "30×40": 1}
    for side in range(120, 137):
        Image.new("L", (8, side)).save(tmp_path / f"{side}.png")
    assert scan_folder(tmp_path).size_counts == {"1 … 128": 12, "129 … 256": 8}


def test_of_coco_the_boxes_of_each_class_are_counted(shapes: Path) -> None:
    path = shapes / "coco" / "annotations.json"
    found = scan_folder(path)
    notes = json.loads(path.read_text())
    each = {one["name"]: 0 for one in notes["categories"]}
    names = {one["id"]: one["name"] for one in notes["categories"]}
    for one in notes["annotations"]:
        each[names[one["category_id"]]] += 1
    assert found.class_counts == each
    assert (found.targets, found.targets_of) == ("boxes", 0)
    assert min(each.values()) > 0


@pytest.mark.parametrize(
    ("place", "kind", "targets"),
    [
        ("segmentation", "", "masks"),
        ("webdataset", "webdataset_masks", "masks"),
        ("webdataset", "webdataset_boxes", "boxes"),
        ("tfrecord", "tfrecord_boxes", "boxes"),
    ],
)
def test_classes_are_counted_by_the_targets_that_a_graph_reads(
    shapes: Path, place: str, kind: str, targets: str
) -> None:
    notes = json.loads((shapes / "coco" / "annotations.json").read_text())
    names = {one["id"]: one["name"] for one in notes["categories"]}
    each = Counter(names[one["category_id"]] for one in notes["annotations"])
    images = {(one["image_id"], one["category_id"]) for one in notes["annotations"]}
    assert len(images) == sum(each.values())  # no image has two of a shape
    found = scan_folder(shapes / place, kind=kind)
    background = {"background": found.count} if targets == "masks" else {}
    numbers = ["background", *(names[number] for number in sorted(names))]
    named = {name: number for number, name in enumerate(numbers)}
    expected = background | dict(each)
    if kind == "webdataset_masks":  # no file names its numbers
        expected = {str(named[name]): count for name, count in expected.items()}
    assert found.class_counts == expected
    assert (found.targets, found.targets_of) == (targets, 0)


def test_numbers_of_instances_are_no_classes(tmp_path: Path) -> None:
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    ids = np.arange(400, dtype=np.uint16).reshape(20, 20)
    for number in range(3):
        Image.new("RGB", (20, 20)).save(tmp_path / "images" / f"{number}.png")
        Image.fromarray(ids + 100 * number).save(tmp_path / "masks" / f"{number}.png")
    (tmp_path / "masks" / "2.png").write_bytes(b"no mask")
    found = scan_folder(tmp_path)
    assert (found.class_counts, found.unnamed, found.targets_of) == ({}, 500, 2)
    Image.fromarray((ids % 2).astype(np.uint8) * 255).save(tmp_path / "masks" / "2.png")
    for number in range(2):
        shutil.copy(tmp_path / "masks" / "2.png", tmp_path / "masks" / f"{number}.png")
    (tmp_path / "masks.names").write_text("road\ncar\n")
    assert scan_folder(tmp_path).class_counts == {"road": 3, "car": 0, "255": 3}


def test_labels_without_a_name_are_counted_by_number(shapes: Path) -> None:
    found = scan_folder(shapes / "tfrecord")
    assert (found.classes, found.targets) == ((), "")
    assert set(found.class_counts) == {"0", "1", "2", "3", "4"}
    assert sum(found.class_counts.values()) == found.count


@pytest.mark.parametrize("ending", ["jpg", "png", "webp", "tiff"])
def test_sizes_are_those_after_the_exif_orientation(tmp_path: Path, ending: str) -> None:
    turned = Image.Exif()
    turned[ExifTags.Base.Orientation] = 6
    Image.new("RGB", (60, 40)).save(tmp_path / f"turned.{ending}", exif=turned)
    assert scan_folder(str(tmp_path)).size_counts == {"40×60": 1}


def test_odd_boxes_are_not_counted_as_images_of_another_size(tmp_path: Path) -> None:
    boxes = [[5, 5, 10, 10], [50, 5, 20, 10], [5, 5, 0, 10], [5, 5, 10, 10]]
    images = [
        {"id": at, "file_name": f"{at}.png", "width": 60, "height": 40} for at in range(len(boxes))
    ]
    images[3]["width"] = 120
    for image in images:
        Image.new("RGB", (60, 40)).save(tmp_path / str(image["file_name"]))
    document = {
        "images": images,
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": at, "image_id": at, "category_id": 1, "bbox": box, "area": 100, "iscrowd": 0}
            for at, box in enumerate(boxes)
        ],
    }
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(document))
    facts = scan_folder(str(path))
    assert (facts.other_size, facts.odd_boxes) == (1, 2)
    assert facts.first_other_size.startswith("3.png, its annotations are for 120×40")
    assert facts.first_odd_box.startswith("1.png, the box [50, 5, 20, 10]")
    sentences = fault_text(facts, open_dataset(path))
    assert "1 of 4 checked images differs in size from the annotations" in sentences
    assert "2 of 4 checked images have a box beyond the edge or without area" in sentences


@pytest.mark.parametrize("ending", ["csv", "txt"])
def test_missing_files_of_a_list_are_at_fault(tmp_path: Path, ending: str) -> None:
    Image.new("RGB", (60, 40)).save(tmp_path / "here.png")
    separator = "," if ending == "csv" else " "
    listed = tmp_path / f"list.{ending}"
    listed.write_text("".join(f"{name}.png{separator}0\n" for name in ("here", "gone", "lost")))
    facts = scan_folder(str(listed))
    assert (facts.count, facts.at_fault) == (3, 2)
    assert facts.first_fault == "gone.png, No such file or directory"


def test_empty_and_cut_files_of_a_folder_are_at_fault(photos: Path, tmp_path: Path) -> None:
    whole = sorted(photos.rglob("*.jpg"))[0].read_bytes()
    for name, content in {"a": whole, "b": b"", "c": whole[: len(whole) // 2]}.items():
        (tmp_path / f"{name}.jpg").write_bytes(content)
    facts = scan_folder(str(tmp_path))
    assert (facts.count, facts.at_fault) == (3, 2)
    assert facts.first_fault == "b.jpg, the file is empty"
    told = fault_text(facts, open_dataset(tmp_path))
    assert told.startswith("2 of 3 samples are unusable; the first: b.jpg, the file is empty.")
    assert "an exported program may read them or stop" in told
