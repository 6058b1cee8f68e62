"""Boxes, points and labels of which each image has another number, in exported loaders."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.emit.written_code import ruff
from tests.graph.annotations.ramps import chain_of, coco_start, write_ramps
from tests.helpers import import_script
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.emit.targets import export
from workbench.errors import GraphExportError
from workbench.graph import Graph, Node, Port

CATALOG = load_catalog()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def loader_of(graph: Graph, tmp_path: Path, with_: str = "") -> ModuleType:
    pytest.importorskip("torch", reason="torch is not installed")
    text = export(graph, "pytorch", CATALOG, with_=with_).main.text
    return import_script(text, tmp_path)


def with_reader(graph: Graph, **args: bool) -> Graph:
    reader = graph.node("reader")
    return graph.replace_node(replace(reader, args={**reader.args, **args}))


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
        assert isinstance(batch["images"], list)  # nothing gives them one size
        forms.append(module.detection_form(batch))
    (images, targets), (others, found) = forms
    assert [image.shape for image in images] == [image.shape for image in others]
    assert 0 <= images[0].min() <= images[0].max() <= 1
    for one, other in zip(targets, found, strict=True):
        np.testing.assert_allclose(one["boxes"], other["boxes"], atol=1e-3)
        assert one["labels"].tolist() == other["labels"].tolist()
        assert str(one["labels"].dtype) == "torch.int64"


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
    """Turned, with what the masks of boxes are drawn of; some boxes are left out."""
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
    with pytest.raises(GraphExportError, match="of boxes each image has another number") as found:
        export(graph, target, CATALOG)
    assert "Put a pad after it" in str(found.value)
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
