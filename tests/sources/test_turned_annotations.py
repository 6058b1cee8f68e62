"""Annotations of images that EXIF rotates or mirrors: DALI turns the pixels, and not the boxes."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import CATALOG, import_script, script_batches
from tests.sources.test_init import a_graph
from tests.sources.written import WRITERS, read_photos
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.edits.edit import set_arg
from workbench.graph.execution.dataset_parameters import datasets_as_read, with_datasets
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.health import check_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import DataFacts, data_facts, open_dataset, open_datasets, require_dataset
from workbench.sources.annotation_faults import box_fault, outline_fault

STORED, BOX = (80, 60), (10, 5, 30, 10)
EVERY = range(1, 9)


def write_turned(folder: Path, sizes: str, orientations: range = EVERY) -> Path:
    """COCO with a photo for each orientation: white in the box on the stored image, else black.

    ``sizes`` are those in the annotations: stored, upright, alternating, or none.
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
        ("upright", False, "stay as stored, whose annotations are for the rotated image"),
        ("", None, "the data do not show whether annotations are for the image before or after"),
        ("", True, ""),  # the user has decided
        ("", False, ""),
    ],
)
def test_a_decoder_unlike_the_annotations_is_a_warning_with_a_fix(
    annotated: str, adjust: bool | None, words: str
) -> None:
    graph = load_recipe("retinanet")
    if adjust is not None:
        graph = set_arg(graph, CATALOG, "decoded", "adjust_orientation", adjust)
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
    assert f"EXIF rotates {facts.turned:,} of the first 6 images, whose annotations" in found


def test_the_program_names_the_warning_and_with_the_fix_boxes_are_on_their_pixels(
    tmp_path: Path,
) -> None:
    data = write_turned(tmp_path, "stored")
    graph = load_recipe("retinanet")
    warned = export(graph, "script", CATALOG, data=str(data)).main.text
    assert "EXIF rotates 7 images, whose annotations" in " ".join(warned.split())
    fixed = set_arg(graph, CATALOG, "decoded", "adjust_orientation", False)
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
    assert "after EXIF rotates it: set adjust_orientation to False" in reasons["6.png"]
    assert "annotations" not in reasons["3.png"]


TRIANGLE = [[1, 2, 9, 2, 9, 12]]
BOX_ENTRY = [1.0, 2.0, 10.0, 20.0]


def runs(counts: Any, size: Any = (30, 40)) -> dict[str, Any]:
    return {"size": list(size), "counts": counts}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (TRIANGLE, ""),
        ([], ""),  # of boxes alone
        ([[]], ""),
        (None, ""),
        (runs([10, 20, 1170]), ""),
        (runs("`0k0"), ""),  # 16 and 27 pixels
        (runs(""), ""),
        ([[1, 2, 9, 2, 9]], "5 numbers in polygon 0"),
        ([1, 2, 9, 2, 9, 12], "is not a list of polygons"),
        ([*TRIANGLE, runs([1200])], "run lengths among its polygons"),
        ([TRIANGLE], "a value in polygon 0 that is not a number"),
        ([[1, 2, 9, 2, 9, None]], "a value in polygon 0 that is not a number"),
        ([[1, 2, 9, 2, 9, True]], "a value in polygon 0 that is not a number"),
        ([[1, 2, 9, 2, 9, 1e300]], "a corner in polygon 0 that is beyond 1,000,000 pixels"),
        ("polygon", "is 'polygon', neither polygons nor run lengths"),
        ({}, "run lengths without a size"),
        (runs([1200], [30.0, 40]), "run lengths without a size"),
        (runs(None), "run lengths without counts"),
        (runs([10, 2.5]), "run lengths without counts"),
        (runs("~~"), "run lengths without counts"),
        (runs([1201]), "run lengths for 1,201 pixels, but the image has 1,200"),
        (runs([-1, 1200]), "run lengths for 1,199 pixels"),
        (runs([1200], [40, 30]), "for an image of 30×40, but the image is 40×30"),
    ],
)
def test_an_outline_that_is_none_is_told(found: Any, words: str) -> None:
    fault = outline_fault(found, (40, 30))
    assert words in fault
    assert bool(words) == bool(fault)


@pytest.mark.parametrize(
    ("box", "corners", "words"),
    [
        ([0, 0, 1, 1], True, ""),
        ([0.5, 0.5, 0.9, 2], True, ""),
        ([0.5, 0.5, 0.2, 0.9], True, "a negative size"),
        ([0.5, 0.5, -0.2, 0.9], False, "a negative size"),
        ([1, 0, 2, 1], True, "outside the image"),
        ([-1, 0, 0.5, 1], False, "outside the image"),
        ([0, 0, 1, float("inf")], True, "a NaN or infinite number"),
        ([0, 0, 1, True], True, "a NaN or infinite number"),
        ([0, 0, 1], False, "is not four numbers"),
    ],
)
def test_a_box_that_is_none_is_told(box: list[float], corners: bool, words: str) -> None:
    fault = box_fault(box, 1, 1, corners=corners)
    assert words in fault
    assert bool(words) == bool(fault)


def coco(photos: Path, folder: Path, **changed: Any) -> Path:
    """Six images, each with a box and an outline; ``changed`` is of the second annotation."""
    path = WRITERS["coco"](read_photos(photos)[:6], folder / "coco")
    found = json.loads(path.read_text())
    label = found["annotations"][0]["category_id"]
    common = {"category_id": label, "bbox": BOX_ENTRY, "area": 200, "iscrowd": 0}
    found["annotations"] = [
        {"id": number, "image_id": number, "segmentation": TRIANGLE, **common}
        for number in range(6)
    ]
    found["annotations"][1] |= changed
    path.write_text(json.dumps(found))
    return path


def reading(path: Path, *options: str) -> Graph:
    """The boxes and what the options of the reader add, in the file's order.

    Boxes in pixels fit the photo as it was read, so no operator moves it.
    """
    graph = with_datasets(a_graph(shuffled=False), open_datasets(str(path)))
    (decoder,) = [node for node in graph.nodes if node.op == "decoders.image"]
    graph = replace(
        graph,
        nodes=tuple(node for node in graph.nodes if node.op != "resize"),
        outputs={**graph.outputs, "images": Port(decoder.id, "output")},
    )
    (reader,) = graph.sources
    graph = graph.replace_node(replace(reader, args=dict.fromkeys(options, True)))
    return replace(graph, outputs={**graph.outputs, "boxes": Port(reader.id, "boxes")})


@pytest.mark.parametrize(
    ("segmentation", "option"),
    [
        ([1, 2, 9, 2, 9, 12], "polygon_masks"),
        ([*TRIANGLE, runs([1])], "polygon_masks"),
        ([[1, 2, "9", 2, 9, 12]], "pixelwise_masks"),
        (runs([10, 10**7]), "pixelwise_masks"),
        ({}, "pixelwise_masks"),
    ],
)
def test_an_outline_that_dali_stops_at_is_left_out_by_name(
    segmentation: Any, option: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """Without this check it outputs no boxes from there on, or ends its process."""
    path = coco(photos, tmp_path, segmentation=segmentation)
    graph = reading(path, option)
    told = Verifier(graph, str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    (left_out,) = told.left_out
    assert left_out.file == "000001.jpg"
    assert "the segmentation of its annotation 1 " in left_out.reason
    (checked,) = check_folder(str(path), full=False).bad
    assert checked.reason == left_out.reason
    good = check_folder(str(path), full=False).write_good(str(tmp_path / "good"))
    (batch,) = script_batches(graph, good, 1, tmp_path)
    boxes: list[NDArray[Any]] = batch[list(graph.outputs).index("boxes")]
    assert [each.tolist() for each in boxes] == [[BOX_ENTRY]] * 5


def test_outlines_that_a_graph_does_not_read_are_no_fault_of_it(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    path = coco(photos, tmp_path, segmentation=[1, 2, 9, 2, 9, 12])
    told = Verifier(reading(path), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert not told.left_out
    preview = preview_batch(engine, PreviewRequest(reading(path), str(path), tiles=4))
    assert "segmentation" not in preview.note


def test_run_lengths_are_no_polygons_and_no_fault(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """As in COCO for crowds: DALI outputs these boxes without an outline."""
    path = coco(photos, tmp_path, segmentation=runs("no counts"))
    told = Verifier(reading(path, "polygon_masks"), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert not told.left_out


def test_a_number_that_is_none_anywhere_is_named(
    photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """JSON does not have it, Python writes it, and DALI outputs no boxes from there on."""
    path = coco(photos, tmp_path, area=float("nan"))
    told = Verifier(reading(path), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert [each.reason for each in told.left_out] == [
        "its annotation 1 has a NaN or infinite number"
    ]
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "info": {"year": float("inf")}}))
    with pytest.raises(DataError, match="'info' contains a NaN or infinite number"):
        require_dataset(open_datasets(str(path))["data"])


@pytest.mark.parametrize("option", ["ratio", "pixelwise_masks"])
@pytest.mark.parametrize(("value", "said"), [(None, "is missing"), (0, "is 0")])
def test_sizes_that_an_option_goes_by_are_asked_for(
    option: str, value: int | None, said: str, photos: Path, tmp_path: Path, engine: Engine
) -> None:
    """DALI takes those of the image before, or none."""
    path = coco(photos, tmp_path)
    found = json.loads(path.read_text())
    for image in found["images"][2:4]:
        image["width"] = value
        if value is None:
            del image["width"]
    path.write_text(json.dumps(found))
    graph = reading(path, option)
    (dataset,) = datasets_as_read(graph, open_datasets(str(path))).values()
    words = rf"width of images\[2\] \(000002.jpg\) {said}, but the reader's argument '{option}'"
    with pytest.raises(DataError, match=words):
        require_dataset(dataset)
    with pytest.raises(DataError, match=r"\(2 of 6 images lack them\), or unset"):
        preview_batch(engine, PreviewRequest(graph, str(path), tiles=4))
    told = Verifier(reading(path), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()


def test_a_check_without_a_graph_tells_what_any_would_stumble_over(
    photos: Path, tmp_path: Path
) -> None:
    path = coco(photos, tmp_path, segmentation=[[1, 2, 3]])
    (bad,) = check_folder(str(path), full=False).bad
    assert "3 numbers in polygon 0, which are not pairs x, y" in bad.reason
