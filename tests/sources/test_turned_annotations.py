"""Annotations of images that EXIF turns or mirrors: DALI turns the pixels, and not the boxes."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.helpers import CATALOG, import_script
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipe
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.edits.edit import set_arg
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.health import check_folder
from workbench.sources import DataFacts, data_facts, open_dataset

STORED, BOX = (80, 60), (10, 5, 30, 10)
EVERY = range(1, 9)


def write_turned(folder: Path, sizes: str, orientations: range = EVERY) -> Path:
    """COCO with a photo for each orientation: white in the box on the stored image, else black.

    ``sizes`` are those that the annotations tell: stored, upright, both in turn, or none.
    """
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    left, top, width, height = BOX
    for turn in orientations:
        pixels = np.zeros((*STORED[::-1], 3), np.uint8)
        pixels[top : top + height, left : left + width] = 255
        exif = Image.Exif()
        exif[0x0112] = turn
        name = f"{turn}.png"
        Image.fromarray(pixels).save(folder / "images" / name, exif=exif)
        upright = sizes == "upright" or (sizes == "both" and turn % 2)
        told = STORED[::-1] if upright and turn > 4 else STORED
        entry = {"id": turn, "file_name": name}
        images.append(
            {
                **entry,
                **({} if sizes == "none" else dict(zip(("width", "height"), told, strict=True))),
            }
        )
        annotations.append(
            {"id": turn, "image_id": turn, "category_id": 1, "bbox": BOX, "area": 300, "iscrowd": 0}
        )
    path = folder / "annotations.json"
    categories = [{"id": 1, "name": "thing"}]
    path.write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories})
    )
    return path


def orientation_warnings(graph: Graph, facts: DataFacts) -> list[str]:
    found = check_warnings(graph, facts={"data": facts})
    return [str(each) for each in found if each.code == "orientation"]


@pytest.mark.parametrize(
    ("sizes", "orientations", "annotated"),
    [
        ("stored", EVERY, "stored"),
        ("upright", EVERY, "upright"),
        ("both", EVERY, ""),
        ("none", EVERY, ""),
        ("stored", range(1, 5), ""),  # whose sides are not exchanged
    ],
)
def test_facts_of_turned_images(
    sizes: str, orientations: range, annotated: str, tmp_path: Path
) -> None:
    facts = data_facts(open_dataset(write_turned(tmp_path, sizes, orientations)))
    assert (facts.turned, facts.annotated) == (len(orientations) - 1, annotated)
    assert facts.first_turned == "2.png"


def test_images_without_orientation_are_none(tmp_path: Path) -> None:
    assert data_facts(open_dataset(write_turned(tmp_path, "stored", range(1, 2)))).turned == 0


@pytest.mark.parametrize(
    ("annotated", "adjust", "words"),
    [
        ("stored", None, "whose annotations are for the image as stored; the first is 2.jpg. Set"),
        ("stored", True, "Set adjust_orientation to False"),
        ("stored", False, ""),
        ("upright", None, ""),
        ("upright", True, ""),
        ("upright", False, "stay as stored, whose annotations are for the turned image"),
        ("", None, "the data do not say whether annotations are for the image before or after"),
        ("", True, ""),  # the user has decided
        ("", False, ""),
    ],
)
def test_a_decoder_unlike_the_annotations_is_a_warning_with_a_fix(
    annotated: str, adjust: bool | None, words: str
) -> None:
    graph = load_recipe("retinanet")
    if adjust is not None:
        graph = set_arg(graph, CATALOG, "decode", "adjust_orientation", adjust)
    facts = DataFacts(turned=7, annotated=annotated, first_turned="2.jpg")  # type: ignore[arg-type]
    warnings = check_warnings(graph, facts={"data": facts})
    found = [each for each in warnings if each.code == "orientation"]
    assert len(found) == bool(words)
    for each in found:
        assert words in str(each)
        (fix,) = fixes(ResolvedGraph(graph, CATALOG), each)
        assert not orientation_warnings(fix.graph, facts)


def test_whoever_reads_the_size_of_a_photo_is_warned_too_and_who_reads_no_boxes_not() -> None:
    facts = DataFacts(turned=1, annotated="stored", first_turned="2.jpg")
    found = orientation_warnings(load_recipe("key-points"), facts)
    assert [each.partition(":")[0] for each in found] == [
        "decode.adjust_orientation",
        "size.adjust_orientation",
    ]
    assert not orientation_warnings(load_recipe("imagenet-train"), facts)


def test_turned_images_of_the_first_that_were_read_are_named_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("workbench.sources.data_facts"), "_MOST_HEADS", 6)
    facts = data_facts(open_dataset(str(write_turned(tmp_path, "stored"))))
    assert facts.headers_read == 6
    (found,) = orientation_warnings(load_recipe("retinanet"), facts)
    assert f"EXIF turns {facts.turned:,} of the first 6 images, whose annotations" in found


def test_the_program_names_the_warning_and_with_the_fix_boxes_are_on_their_pixels(
    tmp_path: Path,
) -> None:
    data = write_turned(tmp_path, "stored")
    graph = load_recipe("retinanet")
    warned = export(graph, "script", CATALOG, data=str(data)).main.text
    assert "EXIF turns 7 images, whose annotations" in " ".join(warned.split())
    fixed = set_arg(graph, CATALOG, "decode", "adjust_orientation", False)
    made = export(fixed, "script", CATALOG, data=str(data)).main.text
    assert "EXIF" not in made
    pipe = import_script(made, tmp_path).build_pipeline(str(data), batch_size=8)
    images, boxes, _ = pipe.run()
    for image, box in zip(images, boxes, strict=True):
        white = np.array(image)[0] > 0
        rows, columns = np.where(white)
        inside = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
        assert np.abs(np.array(inside) - np.array(box)[0]).max() <= 10  # of 1066×800 px


def test_a_check_says_that_the_sizes_are_exchanged(tmp_path: Path) -> None:
    found = check_folder(str(write_turned(tmp_path, "stored")), full=False)
    reasons = {file.file: file.reason for file in found.files}
    assert "after EXIF turns it: set adjust_orientation to False" in reasons["6.png"]
    assert "annotations" not in reasons["3.png"]
