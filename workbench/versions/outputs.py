"""Convert the outputs of a graph to samples: pictures, masks, labels, boxes and key points."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog import load_catalog
from workbench.catalog.extra_operators import FOLLOWERS
from workbench.emit.core.outputs import class_numbers, first_reader, outputs_of_kind
from workbench.errors import DataError, GraphError
from workbench.graph.annotations.follower_edits import with_polygons
from workbench.graph.annotations.formats import box_format, is_relative
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph, resolve
from workbench.graph.storage.io import graph_from_json
from workbench.graph.types.devices import decodes
from workbench.graph.types.tensor_type import TensorType, type_text
from workbench.sources import load_source
from workbench.versions.plan import VersionPlan

ENCODED = "_encoded"
"""Name of the added output with the encoded images, from which names and hashes are taken."""
POLYGONS = "_polygons"
"""Name of the added output with the objects of points: rows of object, first and last point."""
_DECODER = "decoders.image"
_NORMALIZE = "crop_mirror_normalize"
_NORMALIZING = ("mean", "std", "scale", "shift", "dtype", "output_layout")
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class RenderedSample:
    """One sample of a version.

    ``images`` are pictures of shape (h, w, c), uint8, and ``masks`` have shape (h, w), by output
    name. ``size`` is the width and height of the first image, which has the objects. ``boxes`` are
    (n, 4): left, top, right, bottom in pixels; ``labels`` are their classes. ``points`` are
    (m, 2) in pixels, with ``visible`` (m,), and ``objects`` the rows (object, first point, end)
    that divide them. ``numbers`` are scalars, and ``arrays`` all other outputs.
    """

    key: str
    source: str
    label: int | None
    images: Mapping[str, Array]
    masks: Mapping[str, Array]
    size: tuple[int, int]
    boxes: Array | None
    labels: Array | None
    points: Array | None
    visible: Array | None
    objects: Array | None
    numbers: Mapping[str, int | float]
    arrays: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Roles:
    """The role of each output of a graph. An empty text means that there is no such output."""

    images: tuple[str, ...]
    masks: tuple[str, ...]
    sized: str
    """The image that the boxes and points belong to."""
    sides: tuple[int, ...]
    """Its axes of width and height."""
    label: str
    boxes: str
    box_format: str
    box_labels: str
    points: str
    points_relative: bool
    outlines: bool
    """True if points are the corners of outlines, and not key points."""
    point_names: tuple[str, ...]
    visible: str
    numbers: tuple[str, ...]
    arrays: tuple[str, ...]

    @property
    def has_objects(self) -> bool:
        return bool(self.boxes or self.points)


def plan_roles(plan: VersionPlan, key: str) -> Roles:
    """Determine what each output of a graph of a plan is. Its code need not be trusted."""
    graph = graph_from_json(plan.graphs[key])
    return roles_of(ResolvedGraph(graph, load_catalog()), plan.found_pictures)


def roles_of(resolved: ResolvedGraph, pictures: Collection[str] = ()) -> Roles:
    """Determine what each output is; ``pictures`` are images of unknown type that are pictures.

    Raises GraphError if boxes have no known format.
    """
    graph, outputs = resolved.graph, resolved.outputs
    shown = {name: flow for name, flow in outputs.items() if not name.startswith("_")}
    images = tuple(
        name
        for name in outputs_of_kind(shown, "image")
        if name in pictures or is_picture(shown[name])
    )
    masks = tuple(name for name in outputs_of_kind(shown, "mask") if _is_class_mask(shown[name]))
    numbers = class_numbers(shown)
    boxes = next(iter(outputs_of_kind(shown, "boxes")), "")
    points = next(iter(outputs_of_kind(shown, "points")), "")
    others = [name for name in outputs_of_kind(shown, "label") if name not in numbers]
    port = graph.outputs.get(points)
    seen = None if port is None else Port(port.node, "visible")
    visible = next((name for name in others if graph.outputs[name] == seen), "")
    lists = [name for name in others if name != visible and _is_list(shown[name])]
    lists = [name for name in lists if graph.outputs[name].output not in ("places", "indices")]
    box_labels = lists[0] if lists and (boxes or points) else ""
    rows = [name for name in shown if graph.outputs[name] == graph.outputs.get(POLYGONS)]
    scalars = [n for n, flow in shown.items() if flow.kind == "number" and flow.shape == ()]
    used = {*images, *masks, boxes, points, visible, box_labels, *numbers[:1], *rows, *scalars}
    form = box_format(graph, graph.node(graph.outputs[boxes].node)) if boxes else ""
    if boxes and not form:
        raise GraphError(
            f"The format of the boxes in {boxes!r} is unknown after {graph.outputs[boxes].node!r}. "
            "Set format of the node follow_boxes."
        )
    sized = _image_of(resolved, graph.outputs[boxes or points]) if boxes or points else ""
    if images and sized and sized not in images:
        raise GraphError(
            f"{boxes or points!r} belongs to {sized!r}, which is not a uint8 image, unlike "
            f"{images[0]!r}. Remove one of the images from the outputs."
        )
    axes = ("HWC" if sized in images else shown[sized].axes or "") if sized else ""
    if (boxes or points) and not {"H", "W"} <= set(axes):
        raise GraphError(
            f"The size of the image of {boxes or points!r} is unknown. Make an image with known "
            "height and width an output."
        )
    return Roles(
        tuple(sorted(images, key=lambda name: name != sized)),  # the one with objects first
        masks,
        sized,
        (axes.index("W"), axes.index("H")) if sized else (),
        numbers[0] if numbers else "",
        boxes,
        form or "",
        box_labels,
        points,
        port is not None and is_relative(graph, graph.node(port.node)),
        port is not None and _are_outlines(graph, port),
        () if port is None else _names_of(graph, port),
        visible,
        tuple(scalars),
        tuple(name for name in shown if name not in used),
    )


def _image_of(resolved: ResolvedGraph, port: Port) -> str:
    """Return the output with the image of boxes or points: the first that their node follows."""
    graph, images = resolved.graph, outputs_of_kind(resolved.outputs, "image")
    images = [name for name in images if name != ENCODED]
    followed = graph.node(port.node).inputs.get("image", port).node
    made = (name for name in images if followed in ancestors(graph, [graph.outputs[name]]))
    return next(made, images[0] if images else "")


def is_picture(flow: TensorType) -> bool:
    """Return whether values of a type can be stored as a picture."""
    return flow.dtype == "UINT8" and flow.axes == "HWC" and flow.channels in (1, 3)


def unknown_pictures(resolved: ResolvedGraph) -> list[str]:
    """Return the images among the outputs that may be pictures, but have an unknown type."""
    shown = {name: flow for name, flow in resolved.outputs.items() if not name.startswith("_")}
    return [
        name
        for name in outputs_of_kind(shown, "image")
        if not is_picture(flow := shown[name])
        and flow.dtype in (None, "UINT8")
        and flow.axes in (None, "HWC")
        and flow.channels in (None, 1, 3)
    ]


def not_a_picture(value: Array) -> str:
    """Return the shape and type of a value that is not a picture, such as ``8×8×2 float32``."""
    if value.dtype == np.uint8 and value.ndim == 3 and value.shape[2] in (1, 3):
        return ""
    return f"{'×'.join(map(str, value.shape))} {value.dtype}"


def _is_class_mask(flow: TensorType) -> bool:
    """Return whether masks have one integer per pixel; others are stored as arrays."""
    whole = flow.dtype is None or flow.dtype.startswith(("INT", "UINT", "BOOL"))
    return whole and flow.axes in ("HW", "HWC") and flow.channels in (1, None)


def _is_list(flow: TensorType) -> bool:
    return flow.shape is not None and len(flow.shape) == 1 and flow.shape[0] is None


def _are_outlines(graph: Graph, port: Port) -> bool:
    node = _point_nodes(graph, port)[-1]
    return isinstance(node, Source) and load_source(node.kind or "coco").polygons == "outlines"


def _names_of(graph: Graph, port: Port) -> tuple[str, ...]:
    """Return the names of the key points of an object, which data set on followers."""
    named = (node.args.get("names") for node in _point_nodes(graph, port))
    found = next((each for each in named if isinstance(each, tuple | list)), ())
    return tuple(map(str, found))


def _point_nodes(graph: Graph, port: Port) -> list[Node]:
    """Return the nodes that points pass through, the last one first."""
    found = [graph.node(port.node)]
    while "points" in found[-1].inputs and graph.has(found[-1].inputs["points"].node):
        found.append(graph.node(found[-1].inputs["points"].node))
    return found


def graph_to_render(graph: Graph, *, arrays: bool) -> tuple[Graph, list[str]]:
    """Return a graph with all outputs that a version needs, and notes about what was changed.

    Unless ``arrays``, a final ``crop_mirror_normalize`` outputs the uint8 pixels before its
    normalisation. Outputs with encoded images and the objects of points are added.
    """
    notes = []
    resolved = resolve(graph, load_catalog())
    graph, unknown = resolved.graph, unknown_pictures(resolved)
    for name, flow in resolved.outputs.items():
        node = graph.node(graph.outputs[name].node)
        if arrays or flow.kind != "image" or is_picture(flow):
            continue
        if node.op != _NORMALIZE:
            note = (
                f"{name}: stored as arrays, because {node.id!r} outputs {type_text(flow)}, and a "
                "picture is u8 HWC."
            )
            notes += [note] * (name not in unknown)
            continue
        given = resolved.types.get(node.inputs["data"])
        graph = graph.replace_node(_before_normalization(node, given))
        values = [
            f"{each} {_short(node.args[each])}" for each in ("mean", "std") if each in node.args
        ]
        notes.append(
            f"{name}: stored as uint8 pixels before the normalization of {node.id!r} "
            f"({', '.join(values) or 'its values are computed'}). Normalize them when you train."
        )
        if given is None or given.dtype != "UINT8":
            notes.append(f"{name}: the pixels before {node.id!r} are not uint8 and are rounded.")
    added = {}
    main = first_reader(resolved.nodes)
    spec = load_catalog()[main.op]
    added[ENCODED] = output_ports(main, spec)[0]
    points = outputs_of_kind(resolved.outputs, "points")
    if points and (rows := _rows_of(graph, graph.outputs[points[0]])) is not None:
        added[POLYGONS] = rows
    graph = replace(graph, outputs={**graph.outputs, **added})
    for node in graph.nodes:  # if boxes are removed, the objects of outlines are renumbered
        graph = with_polygons(graph, node.id)
        counted = {Port(node.id, "boxes"), Port(node.id, "labels")} & {*graph.outputs.values()}
        if counted and node.inputs.get("polygons", ENCODED) == graph.outputs.get(POLYGONS):
            outputs = {**graph.outputs, POLYGONS: Port(node.id, "polygons")}
            graph = replace(graph, outputs=outputs)
    for kind in ("boxes", "points"):
        notes += [
            f"{name}: stored as an array of the graph's values, because objects are made of one "
            f"output of {kind}."
            for name in outputs_of_kind(resolved.outputs, kind)[1:]
        ]
    return graph, notes


def _before_normalization(node: Node, given: TensorType | None) -> Node:
    args = {name: value for name, value in node.args.items() if name not in _NORMALIZING}
    inputs = {name: port for name, port in node.inputs.items() if name not in _NORMALIZING}
    layout = "FHWC" if given is not None and "F" in (given.axes or "") else "HWC"
    return replace(node, args={**args, "dtype": "UINT8", "output_layout": layout}, inputs=inputs)


def _short(value: object) -> str:
    values = value if isinstance(value, tuple) else (value,)
    return "/".join(f"{each:.5g}" for each in values)


def _rows_of(graph: Graph, port: Port) -> Port | None:
    """Return the port with the objects of points, of a follower or of the source."""
    node = graph.node(port.node)
    while node.op in FOLLOWERS and "polygons" not in node.inputs:
        giver = node.inputs.get("points")
        if giver is None or not graph.has(giver.node):
            return None
        node = graph.node(giver.node)
    known = {each.output for each in output_ports(node, load_catalog()[node.op])}
    return Port(node.id, "polygons") if "polygons" in known else None


def original_graph(graph: Graph) -> Graph:
    """Return the graph that outputs the decoded images and the annotations as they were read.

    Raises GraphError for an output that does not exist in the data.
    """
    resolved = resolve(graph, load_catalog())
    graph = resolved.graph
    outputs = {}
    for name, port in graph.outputs.items():
        kind = resolved.kind(port)
        before = ancestors(graph, [port])
        nodes = [node for node in resolved.nodes if node.id in before]
        found = next(_read_ports(resolved, nodes, kind), None)
        if found is None:
            raise GraphError(
                f"The output {name!r} ({kind}) is not in the data, so there is no original of it. "
                "Render without originals."
            )
        outputs[name] = found
    images = [name for name, port in outputs.items() if resolved.kind(port) == "image"]
    kept = {name: port for name, port in outputs.items() if name not in images[1:]}
    known = load_catalog()[_DECODER].args
    for node in graph.nodes:
        if node.op.startswith(f"{_DECODER}_"):  # it crops
            args = {name: value for name, value in node.args.items() if name in known}
            whole = replace(node, op=_DECODER, args=args, inputs={"data": node.inputs["data"]})
            graph = graph.replace_node(whole)
    return replace(graph, outputs=kept)


def _read_ports(resolved: ResolvedGraph, nodes: list[Node], kind: str) -> Iterator[Port]:
    for node in nodes:
        spec = resolved.spec(node)
        reads = isinstance(node, Source) or (kind == "image" and decodes(spec))
        for port in output_ports(node, spec) if reads else ():
            if resolved.kind(port) == kind:
                yield port


class SampleReader:
    """Converts the outputs of one sample to a ``RenderedSample``."""

    def __init__(self, resolved: ResolvedGraph, pictures: Collection[str] = ()) -> None:
        self.roles = roles_of(resolved, pictures)
        self._pictures = [name for name in self.roles.images if name in pictures]

    def sample(self, key: str, source: str, values: Mapping[str, Array]) -> RenderedSample:
        """Return the sample with the outputs ``values``, by output name.

        Raises DataError if an image of unknown type is not a picture.
        """
        roles = self.roles
        for name in self._pictures:
            if found := not_a_picture(values[name]):
                raise DataError(
                    f"{source}: {name!r} is {found}, but was uint8 HWC with 1 or 3 channels in the "
                    "first samples. Output such an image for each sample, or use arrays (--arrays)."
                )
        across, down = roles.sides or (1, 0)
        shape = values[roles.sized].shape if roles.sized else (0, 0)
        width, height = shape[across], shape[down]
        boxes = values.get(roles.boxes)
        if boxes is not None:
            boxes = _in_pixels(boxes, roles.box_format, width, height)
        points = values.get(roles.points)
        if points is not None:
            scale = (width, height) if roles.points_relative else (1, 1)
            points = points.astype(np.float64).reshape(-1, 2) * scale
        label = values.get(roles.label)
        return RenderedSample(
            key,
            source,
            None if label is None else int(label.reshape(()) if label.size == 1 else label[0]),
            {name: values[name] for name in roles.images},
            {name: values[name].reshape(values[name].shape[:2]) for name in roles.masks},
            (width, height),
            boxes,
            values.get(roles.box_labels),
            points,
            values.get(roles.visible),
            values.get(POLYGONS),
            {name: values[name].item() for name in roles.numbers},
            {name: values[name] for name in roles.arrays},
        )


def _in_pixels(boxes: Array, form: str, width: int, height: int) -> Array:
    found = boxes.astype(np.float64).reshape(-1, 4).copy()
    if form.endswith("cxcywh"):
        found[:, :2] -= found[:, 2:] / 2
    if form.endswith("wh"):
        found[:, 2:] += found[:, :2]
    return found * (width, height, width, height) if form.startswith("relative") else found
