"""Find outputs whose samples differ in shape, which loaders return as lists, as in torchvision.

Boxes, points and labels whose number differs between images become lists with a tensor per image.
Other outputs stay tensors. If an image has boxes with labels, the exported program trains one of
torchvision's detection models, which accept images of different sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.emit.core.outputs import Outputs, outputs_of_kind, ragged_outputs
from workbench.errors import GraphExportError
from workbench.graph.annotations.formats import box_format, is_relative
from workbench.graph.model import Graph, Port


@dataclass(frozen=True, slots=True)
class Detection:
    """Names of the outputs from which the targets of a detection model are formed."""

    image: str
    boxes: str
    labels: str
    format: str
    """Format of the boxes, one of ``BOX_FORMATS``."""
    masks: tuple[str, ...] | None = None
    """Output names: polygons, vertices in pixels and, if boxes were dropped, ``places``."""


def find_detection(graph: Graph, outputs: Outputs) -> Detection | None:
    """Return the first image output with boxes and labels, or None.

    Raises GraphExportError if the format of the boxes is unknown.
    """
    ragged = ragged_outputs(graph, outputs)
    images = [
        name for name in outputs_of_kind(outputs, "image") if outputs[name].axes in ("HWC", "CHW")
    ]
    for boxes in (name for name in ragged if outputs[name].kind == "boxes"):
        node = graph.outputs[boxes].node
        labels = (
            name
            for name in ragged
            if outputs[name].kind == "label" and graph.outputs[name].node == node
        )
        found = next(labels, None)
        if found is None or not images:
            continue
        written = box_format(graph, graph.node(node))
        if written is None:
            raise GraphExportError(
                f"{graph.outputs[boxes]}: the format of the boxes is unknown, but torchvision "
                "requires corners in pixels. Add a follow_boxes node, and set its format."
            )
        masks = _find_masks(graph, node)
        return Detection(images[0], boxes, found, written, masks)
    return None


def _find_masks(graph: Graph, follower: str) -> tuple[str, ...] | None:
    """Return the outputs from which the masks of boxes can be computed, or None."""
    given = {port: name for name, port in graph.outputs.items()}
    places, counted = given.get(Port(follower, "places")), given.get(Port(follower, "polygons"))
    for node in graph.nodes:
        if node.op == "follow_points" and not is_relative(graph, node):
            source = node.inputs["points"]
            polygons, vertices = Port(source.node, "polygons"), Port(node.id, "points")
            if source.output == "vertices" and counted and vertices in given:
                return counted, given[vertices]
            if source.output == "vertices" and places and {polygons, vertices} <= given.keys():
                return given[polygons], given[vertices], places
    return None


def list_outputs(graph: Graph, outputs: Outputs) -> list[str]:
    """Return the names of the outputs that a loader returns as lists.

    For detection models, these include images of different sizes.
    """
    ragged = set(ragged_outputs(graph, outputs))
    if find_detection(graph, outputs):
        ragged |= {
            name
            for name, flow in outputs.items()
            if flow.kind in ("image", "mask") and (flow.shape is None or None in flow.shape)
        }
    return [name for name in outputs if name in ragged]


def detection_fields(detection: Detection, outputs: Outputs) -> dict[str, Any]:
    """Return the values for the macro ``detection_form`` of ``_training.py.j2``."""
    flow = outputs[detection.image]
    image = "image"
    if flow.axes == "HWC":
        image += ".permute(2, 0, 1)"
    if flow.dtype != "FLOAT":
        image += ".float()"
    if flow.dtype == "UINT8":
        image += " / 255"
    masks = detection.masks or ()
    read = {"boxes": detection.boxes, "labels": detection.labels}
    read |= dict(zip(("polygons", "vertices", "places"), masks, strict=False))
    relative = detection.format.startswith("relative")
    if relative or masks:  # which uses the size of an image
        fed = {"image": "images", **{name: f'batch["{each}"]' for name, each in read.items()}}
    else:
        fed = {name: f'batch["{each}"]' for name, each in read.items()}
    return {
        "image": image,
        "images": detection.image,
        "names": [*fed],
        "read": [*fed.values(), "strict=True"],
        "relative": relative,
        "centred": detection.format.endswith(" cxcywh"),
        "sized": not detection.format.endswith(" ltrb"),
        "masks": bool(masks),
    }
