"""Boxes, points and labels in exported loaders, also of another number for each image."""

from __future__ import annotations

import io
import struct
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.emit.written_code import ruff
from tests.graph.annotations.ramps import chain_of, coco_start, write_ramps
from tests.helpers import CATALOG, import_script, with_args, with_nodes, with_settings
from tests.sources.written import WRITERS, Photos
from tests.thorough import one_in
from workbench.catalog.spec import Value
from workbench.emit.core.outputs import class_numbers
from workbench.emit.targets import export
from workbench.errors import GraphExportError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.resolved import ResolvedGraph
from workbench.samples.shapes import CLASSES, SCENES
from workbench.sources import list_samples, open_dataset

LABELS = Port("reader", "labels")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def loader_of(graph: Graph, tmp_path: Path, with_: str = "") -> ModuleType:
    pytest.importorskip("torch", reason="torch is not installed")
    text = export(graph, "pytorch", CATALOG, with_=with_).main.text
    return import_script(text, tmp_path)


def with_reader(graph: Graph, **args: bool) -> Graph:
    return with_args(graph, "reader", **args)


@pytest.mark.parametrize("ltrb", [False, True])
@pytest.mark.parametrize("ratio", [False, True])
def test_detection_form_has_corners_in_pixels(
    folder: Path, tmp_path: Path, ltrb: bool, ratio: bool
) -> None:
    wanted = with_reader(coco_start(folder), ltrb=True, ratio=False)
    written = with_reader(wanted, ltrb=ltrb, ratio=ratio)
    forms = []
    for name, graph in (("wanted", wanted), ("written", written)):
        (tmp_path / name).mkdir()
        module = loader_of(graph, tmp_path / name, "training")
        (batch,) = module.Loader(module.build_pipeline())
        assert isinstance(batch["images"], list)  # their sizes differ
        forms.append(module.detection_form(batch))
    (images, targets), (others, found) = forms
    assert [image.shape for image in images] == [image.shape for image in others]
    assert 0 <= images[0].min() <= images[0].max() <= 1
    for one, other in zip(targets, found, strict=True):
        np.testing.assert_allclose(one["boxes"], other["boxes"], atol=1e-3)
        assert one["labels"].tolist() == other["labels"].tolist()
        assert str(one["labels"].dtype) == "torch.int64"


def of_centres(graph: Graph) -> tuple[Graph, Port]:
    """The reader's boxes (left, top, width, height) by their centres."""
    boxes, port = Port("reader", "boxes"), lambda name: Port(name, "output")
    nodes = (
        Node("size", "subscript", {"index": ":, 2:4"}, {"data": boxes}),
        Node("low", "subscript", {"index": ":, 0:2"}, {"data": boxes}),
        Node("half", "math.mul", {"right": 0.5}, {"data": port("size")}),
        Node("centre", "math.add", {}, {"data": port("low"), "right": port("half")}),
        Node("joined", "cat", {"axis": 1}, {"input_0": port("centre"), "input_1": port("size")}),
    )
    return with_nodes(graph, *nodes), port("joined")


@pytest.mark.parametrize("relative", [False, True])
def test_detection_form_has_corners_of_boxes_by_their_centres(
    folder: Path, tmp_path: Path, relative: bool
) -> None:
    found = []
    for centres in (False, True):
        graph = with_reader(coco_start(folder), ltrb=False, ratio=relative)
        graph, boxes = of_centres(graph) if centres else (graph, Port("reader", "boxes"))
        inputs = {"boxes": boxes, "image": Port("decode", "output"), "labels": LABELS}
        corners = "cxcywh" if centres else "xywh"
        args: dict[str, Value] = {"format": f"{'relative' if relative else 'absolute'} {corners}"}
        outputs = {"images": Port("decode", "output")}
        outputs |= {name: Port("moved", name) for name in ("boxes", "labels")}
        graph = with_nodes(graph, Node("moved", "follow_boxes", args, inputs))
        module = loader_of(replace(graph, outputs=outputs), tmp_path, "training")
        (batch,) = module.Loader(module.build_pipeline())
        found.append([target["boxes"] for target in module.detection_form(batch)[1]])
    assert sum(map(len, found[0]))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_the_program_trains_a_detection_model(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    module = loader_of(chain_of(folder, 3), tmp_path, "training")
    seen: list[int] = []

    class Detector(torch.nn.Module):  # type: ignore[misc]
        """A model in torchvision's place, which is not installed."""

        def __init__(self, num_classes: int, **_: object) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(num_classes))

        def forward(self, images: list[Any], targets: list[dict[str, Any]]) -> dict[str, Any]:
            seen.extend(len(target["boxes"]) for target in targets)
            assert all(image.shape[0] == 3 for image in images)
            boxes = torch.cat([target["boxes"] for target in targets])
            return {"one": self.scale.sum() * boxes.sum(), "two": self.scale.sum()}

    models = ModuleType("torchvision.models")
    models.detection = ModuleType("detection")  # type: ignore[attr-defined]
    models.detection.fasterrcnn_mobilenet_v3_large_320_fpn = Detector
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    monkeypatch.setattr(sys, "argv", ["loader.py", "--classes", "1"])
    module.main()
    assert len(seen) == 4


def with_polygons(folder: Path) -> Graph:
    """Rotated, with the polygons of the boxes; some boxes are dropped."""
    graph = with_reader(coco_start(folder), polygon_masks=True)
    args: dict[str, Value] = {"angle": 20.0, "keep_size": True}
    crop: dict[str, Value] = {"crop": (110, 120), "crop_pos_x": 0.2}
    nodes = (
        Node("turn", "rotate", args, {"data": Port("decode", "output")}),
        Node("crop", "crop", crop, {"data": Port("turn", "output")}),
        Node(
            "boxes",
            "follow_boxes",
            {"places": True},
            {
                "boxes": Port("reader", "boxes"),
                "image": Port("crop", "output"),
                "labels": Port("reader", "labels"),
            },
        ),
        Node(
            "points",
            "follow_points",
            {},
            {"points": Port("reader", "vertices"), "image": Port("crop", "output")},
        ),
    )
    outputs = {
        "images": Port("crop", "output"),
        "found": Port("boxes", "boxes"),
        "labels": Port("boxes", "labels"),
        "places": Port("boxes", "places"),
        "polygons": Port("reader", "polygons"),
        "vertices": Port("points", "points"),
    }
    return replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs)


def test_masks_of_boxes_are_drawn_of_their_polygons(folder: Path, tmp_path: Path) -> None:
    graph = with_polygons(folder)
    module = loader_of(graph, tmp_path, "training")
    assert "maskrcnn_resnet50_fpn" in Path(str(module.__file__)).read_text("utf-8")
    (batch,) = module.Loader(module.build_pipeline())
    assert set(module.LISTS) == {"found", "labels", "places", "polygons", "vertices"}
    assert min(len(each) for each in batch["places"]) < 3  # some are not seen any more
    _, targets = module.detection_form(batch)
    whole = 0
    for target in targets:
        assert len(target["masks"]) == len(target["boxes"]) == len(target["labels"])
        assert target["labels"].tolist() == [1] * len(target["boxes"])
        for mask, box in zip(target["masks"], target["boxes"].tolist(), strict=True):
            ys, xs = np.nonzero(mask.numpy())
            hull = (xs.min(), ys.min(), xs.max() + 1, ys.max() + 1)
            cut = 0 in (*box[:2], 120 - box[2], 110 - box[3])
            if not cut:  # of what is cut the mask may be smaller than the box
                whole += 1
                np.testing.assert_allclose(hull, box, atol=1.0)
    assert whole


def test_it_is_as_ruff_would_have_it(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    starts = {
        "pixels": with_reader(coco_start(folder), ratio=False, ltrb=False),
        "shares": with_reader(coco_start(folder), ratio=True, ltrb=True),
        "polygons": with_polygons(folder),
    }
    for target in ("pytorch", "lightning"):
        for ratio, graph in starts.items():
            text = export(graph, target, CATALOG, with_="training").main.text
            assert "cross_entropy" not in text
            (tmp_path / f"{target}_{ratio}.py").write_text(text)
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def without_images(graph: Graph) -> Graph:
    outputs = {name: port for name, port in graph.outputs.items() if name != "images"}
    return replace(graph, outputs=outputs)


@pytest.mark.parametrize("target", ["jax", "paddle"])
def test_arrays_are_refused_with_a_remedy_that_works(folder: Path, target: str) -> None:
    graph = without_images(coco_start(folder))
    with pytest.raises(
        GraphExportError, match="the length of 'boxes' differs between images"
    ) as found:
        export(graph, target, CATALOG)
    assert "Add a pad with axes 0" in str(found.value)
    for name, none in (("boxes", -1.0), ("labels", 0.0)):
        args = {"axes": (0,), "shape": (5,), "fill_value": none}
        inputs = {CATALOG["pad"].inputs[0].name: graph.outputs[name]}
        pad = Node(f"pad_{name}", "pad", args, inputs)
        outputs = {**graph.outputs, name: Port(pad.id, "output")}
        graph = replace(graph, nodes=(*graph.nodes, pad), outputs=outputs)
    text = export(graph, target, CATALOG).main.text
    assert "fn.pad(" in text


def test_labels_without_boxes_are_lists_too(folder: Path, tmp_path: Path) -> None:
    graph = coco_start(folder)
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    module = loader_of(graph, tmp_path)
    (batch,) = module.Loader(module.build_pipeline())
    assert [each.shape for each in batch["labels"]] == [(3,)] * 4


# Labels of every kind of source are one number a sample in the exported loaders.


@pytest.fixture(scope="module")
def photos() -> Photos:
    """Six images, whose labels are 10 to 15."""
    found: Photos = []
    for number in range(6):
        file = io.BytesIO()
        Image.fromarray(np.full((8, 8, 3), number, np.uint8)).save(file, "jpeg")
        found.append((file.getvalue(), 10 + number))
    return found


def graph_of(data: Path) -> Graph:
    return wb.read(data).decode().resize(size=(8, 8)).with_settings(batch_size=4, num_threads=1)


@pytest.mark.parametrize("kind", sorted(set(WRITERS) - {"coco"}))
def test_labels_are_class_numbers(kind: str, photos: Photos, tmp_path: Path) -> None:
    graph = graph_of(WRITERS[kind](photos, tmp_path / "data"))
    assert class_numbers(ResolvedGraph(graph, CATALOG).outputs) == ["labels"]
    for target in ("pytorch", "jax", "keras"):
        assert "LISTS" not in export(graph, target).main.text


def test_labels_of_record_io_come_as_int64(photos: Photos, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = graph_of(WRITERS["record_io"](photos, tmp_path / "data"))
    labels = [labels for _, labels in wb.loader(graph)]
    assert [each.tolist() for each in labels] == [[10, 11, 12, 13], [14, 15]]
    assert {str(each.dtype) for each in labels} == {"torch.int64"}


def test_a_record_with_its_label_after_the_header_has_that_class(
    photos: Photos, tmp_path: Path
) -> None:
    """``im2rec`` can write one label as a list of one."""
    folder = WRITERS["record_io"](photos[:1], tmp_path / "data").parent
    content = struct.pack("<IfQQ", 1, 0.0, 0, 0) + struct.pack("<f", 7.0) + photos[0][0]
    head = struct.pack("<II", 0xCED7230A, len(content))
    (folder / "photos.rec").write_bytes(head + content + bytes(-len(content) % 4))
    (sample,) = list_samples(open_dataset(folder / "photos.rec"))
    assert sample.label == 7
    assert not sample.fault


# The recipes for detection in exported PyTorch loaders: an epoch, and torchvision's models.

BATCH = 5
MODELS = ("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn")


def annotations_of(shapes: Path) -> str:
    return str(shapes / "coco" / "annotations.json")


def training_loader_of(graph: Graph, folder: Path) -> ModuleType:
    return import_script(export(graph, "pytorch", CATALOG, with_="training").main.text, folder)


def small_with_masks() -> Graph:
    """The recipe for RetinaNet at a fifth of its size, with class masks in addition to boxes."""
    graph = load_recipe("retinanet")
    (reader,) = graph.sources
    resize, image = graph.node("resize"), graph.outputs["images"]
    graph = with_args(graph, reader.id, pixelwise_masks=True)
    graph = graph.replace_node(replace(resize, args={"resize_shorter": 160, "max_size": 267}))
    masks = Node(
        "follow_masks", "follow_masks", inputs={"masks": Port("reader", "masks"), "image": image}
    )
    return with_nodes(graph, masks, masks=Port("follow_masks", "masks"))


@pytest.mark.parametrize("name", one_in(2, ["ssd", "retinanet"]))
def test_an_epoch_has_every_sample_with_its_boxes(name: str, shapes: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    module = training_loader_of(with_settings(load_recipe(name), batch_size=BATCH), tmp_path)
    batches = list(module.Loader(module.build_pipeline(annotations_of(shapes), num_threads=2)))
    assert [len(batch["boxes"]) for batch in batches] == [BATCH] * (SCENES // BATCH) + [
        SCENES % BATCH
    ]
    seen = set()
    for images, targets in map(module.detection_form, batches):
        for image, target in zip(images, targets, strict=True):
            boxes, (height, width) = target["boxes"].numpy(), image.shape[-2:]
            assert len(boxes) == len(target["labels"]) >= 1
            assert (boxes[:, 2:] > boxes[:, :2]).all()
            assert (boxes >= 0).all()
            assert (boxes <= np.array([width, height, width, height]) + 1e-3).all()
            seen |= set(target["labels"].tolist())
    assert seen == set(range(1, len(CLASSES) + 1))


def instance_masks(classes: Any, target: dict[str, Any]) -> Any:
    """A mask for each box: its class within it. Boxes of the samples do not overlap."""
    import torch

    found = torch.zeros((len(target["boxes"]), *classes.shape), dtype=torch.uint8)
    pairs = zip(target["boxes"].tolist(), target["labels"].tolist(), strict=True)
    for mask, ((left, top, right, bottom), label) in zip(found, pairs, strict=True):
        inside = slice(int(top), int(bottom) + 1), slice(int(left), int(right) + 1)
        mask[inside] = classes[inside] == label
    return found


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "model", one_in(2, ["fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn"])
)
def test_a_model_of_torchvision_takes_a_step(
    model: str, device: str, shapes: Path, tmp_path: Path
) -> None:
    torch: Any = pytest.importorskip("torch", reason="torch is not installed")
    detection: Any = pytest.importorskip(
        "torchvision.models.detection", reason="torchvision is not installed"
    )
    with_masks = model.startswith("mask")
    graph = small_with_masks() if with_masks else load_recipe("ssd")
    module = training_loader_of(with_settings(graph, batch_size=2, device=device), tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(annotations_of(shapes), num_threads=2))))
    images, targets = module.detection_form(batch)
    if with_masks:
        for target, classes in zip(targets, batch["masks"], strict=True):
            target["masks"] = instance_masks(classes[..., 0].cpu(), target)
            assert (target["masks"].flatten(1).sum(1) > 0).all()
    place = torch.device("cuda" if device == "mixed" else "cpu")
    images = [image.to(place) for image in images]
    targets = [{name: value.to(place) for name, value in each.items()} for each in targets]

    torch.manual_seed(0)
    normalised = {"image_mean": [0.0] * 3, "image_std": [1.0] * 3} if with_masks else {}
    sizes = {"min_size": 160, "max_size": 267, "num_classes": len(CLASSES) + 1}
    made = getattr(detection, model)(weights=None, weights_backbone=None, **sizes, **normalised)
    made = made.to(place).train()
    before = [parameter.detach().clone() for parameter in made.parameters()]
    losses = made(images, targets)
    assert ("loss_mask" in losses) == with_masks
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert losses["loss_box_reg"] > 0
    optimizer = torch.optim.SGD(made.parameters(), lr=1e-3)
    sum(losses.values()).backward()
    optimizer.step()
    changed = [not torch.equal(a, b) for a, b in zip(before, made.parameters(), strict=True)]
    assert sum(changed) > len(changed) / 2
    assert all(torch.isfinite(parameter).all() for parameter in made.parameters())
