"""Split a graph into steps that DALI runs in the worker process.

A step is a node of the path from the reader to the images, with the nodes that compute its
arguments. Random values are fixed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.emit.interop.graph import decoded_images
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.registry import task
from workbench.engine.resources.machine import describe_machine
from workbench.engine.run.worker import Worker
from workbench.errors import ArgumentError, PipelineError
from workbench.graph.edits.edit import renamed_nodes
from workbench.graph.model import DecodeDevice, Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.resolved import resolve
from workbench.pipeline_difference.measure import Failed, Item
from workbench.pipeline_difference.steps import DECODE, TAIL, Side, Step
from workbench.sources import PARAMETER, Datasets, open_dataset

DALI = "dali"
_MIXED = ":mixed"
"""Suffix of the group name of steps that run with mixed decoding."""
_CROP = ("crop", "crop_w", "crop_h", "crop_pos_x", "crop_pos_y", "rounding")
_CROP_EDGE = ("out_of_bounds_policy", "fill_values")
_WINDOWS = {"random_resized_crop": "resize", "decoders.image_random_crop": "decoders.image"}
"""Operators that sample a random window, with the operator for the whole image that replaces them.
"""
_KINDS = {
    "resize": "resize",
    "crop": "crop",
    "slice": "crop",
    "flip": "flip",
    "rotate": "rotate",
    "warp_affine": "warp",
    "decoders.image": DECODE,
    "cast": TAIL,
    "normalize": TAIL,
    "crop_mirror_normalize": TAIL,
    "transpose": TAIL,
}
_COLOURS = (
    *("hsv", "hue", "saturation", "color_twist", "brightness", "contrast", "brightness_contrast"),
    "color_space_conversion",
)


@dataclass(frozen=True, slots=True)
class Call:
    """A node between the reader and the image output.

    ``nodes`` are the nodes that compute its arguments, followed by the node. ``entry`` is the input
    port that is replaced by the previous step's output, and ``exit`` is the node's output port.
    """

    node: Node
    nodes: tuple[Node, ...]
    entry: Port
    exit: Port

    def with_node(self, node: Node, *before: Node) -> Call:
        """Replace the node, for example to change its arguments."""
        others = tuple(each for each in self.nodes if each.id != self.node.id)
        return replace(self, node=node, nodes=(*others, *before, node))

    def with_args(self, **args: Any) -> Call:
        """Set arguments. An argument that is None is removed."""
        node = self.node.without([name for name in args if args[name] is None])
        given = {name: value for name, value in args.items() if value is not None}
        return self.with_node(node.without(list(given)).with_args({**node.args, **given}))


def graph_side(graph: Graph, name: str, label: str, *, on_gpu: bool = True) -> Side:
    """Return the steps that compute a graph's first image output.

    Mixed decoding is used if the graph sets it, ``on_gpu`` is true, and this machine has a GPU.
    Raises ArgumentError for a graph without images, with several sources, or with random values
    that cannot be fixed.
    """
    catalog, given = load_catalog(), graph
    graph = resolve(graph.whole, catalog).graph
    images = resolve(graph, catalog).images
    if not images or len(graph.sources) != 1:
        raise ArgumentError(
            f"diff needs one reader and at least one image output, but {name} has "
            f"{len(graph.sources)} readers and {len(images)} image outputs. Use another graph."
        )
    output, port = next(iter(images.items()))
    notes = []
    if len(images) > 1:
        notes.append(f"{name}: only {output} is compared, of the outputs {', '.join(images)}.")
    group, not_run = f"{DALI}:{label}", ""
    if graph.settings.device != "cpu":
        why = describe_machine().no_gpu if on_gpu else "a program runs on the CPU"
        group += "" if why else _MIXED
        not_run = f"mixed decoding of {label}" if why else ""
        notes.append(
            f"{name}: images are decoded on the CPU, not as mixed decoding does, because {why}."
            if why
            else f"{name}: images are decoded on the GPU (mixed decoding)."
        )
    random = _random_arguments(graph)
    graph, port, fixed = _pinned(graph, port, name)
    if fixed:
        notes.append(
            f"{name}: random values are fixed to the upper end of their range ({', '.join(fixed)})."
        )
    graph, port = _split_crops(graph, port)
    steps = tuple(_steps(graph, port, name, group))
    return Side(name, steps, tuple(notes), not_run, random if fixed else (), given)


def _random_arguments(graph: Graph) -> tuple[str, ...]:
    """Return the random parts of a graph as code, for example ``rotate.angle=random.uniform(...)``.

    These are the random crops, and the arguments that are random values.
    """
    random = {each.id: call_text(each) for each in graph.walk() if each.op.startswith("random.")}
    found = [call_text(each) for each in graph.walk() if each.op in _WINDOWS]
    for node in graph.walk():
        for name, port in node.inputs.items():
            if port.node in random:
                found.append(f"{node.op}.{name}={random[port.node]}")
    return tuple(sorted(found))


def _inlined(graph: Graph, port: Port) -> tuple[Graph, Port, list[str]]:
    """Replace each block that runs with a probability by its contents.

    Returns the graph, the port and notes.
    """
    fixed: list[str] = []
    for name in [node.id for node in graph.nodes if node.op == "if"]:
        block = graph.node(name)
        condition = block.inputs.get("condition")
        if condition is None or graph.node(condition.node).op != "random.coin_flip":
            continue
        scope, body = block.scope("then"), block.bodies["then"]
        given = {Port(scope, key): value for key, value in block.inputs.items()}
        graph = graph.substitute(block.id, *(each.rewire(given) for each in body.nodes))
        made = {Port(block.id, key): given.get(end, end) for key, end in body.outputs.items()}
        graph, port = graph.rewire(made), made.get(port, port)
        fixed.append(f"{block.id}: p=1")
    return graph, port, fixed


def _pinned(graph: Graph, port: Port, name: str) -> tuple[Graph, Port, list[str]]:
    """Replace random arguments with constants. Returns the graph, the port and notes.

    Raises ArgumentError if a random argument cannot be replaced.
    """
    catalog = load_catalog()
    graph, port, fixed = _inlined(graph, port)
    used = ancestors(graph, [port])
    for node in [each for each in graph.nodes if each.id in used]:
        if node.op in _WINDOWS:
            spec = catalog[_WINDOWS[node.op]].args
            args = {key: value for key, value in node.args.items() if key in spec}
            node = replace(node, op=_WINDOWS[node.op], args=args, seed=None)
            graph = graph.replace_node(node)
            fixed.append(f"{node.id}: the whole image instead of a random window")
        for argument, source in list(node.inputs.items()):
            generator = graph.node(source.node) if graph.has(source.node) else None
            value = _upper_end(generator) if generator and "shape" not in generator.args else None
            if value is not None and argument in catalog[node.op].args:
                node = node.without([argument]).with_args({**node.args, argument: value})
                graph = graph.replace_node(node)
                fixed.append(f"{node.id}.{argument}={value:g}")
    left = ancestors(graph, [port])
    for node in [each for each in graph.nodes if each.id in left]:
        value = _upper_end(node)
        if value is not None:  # its arithmetic may round down: just below the upper end
            below = float(np.nextafter(np.float32(value), np.float32(-np.inf)))
            data = {"fdata": (below,)} if node.op == "random.uniform" else {"idata": (1,)}
            args = {**data, "shape": node.args.get("shape", ())}
            graph = graph.replace_node(Node(node.id, "constant", args))
            fixed.append(f"{node.id}={value:g}")
    random = [
        each.id
        for each in graph.walk()
        if graph.outermost(each.id) in left
        and not isinstance(each, Source)
        and (catalog[each.op].seeded or each.op in AUTO_AUGMENT)
    ]
    if random:
        raise ArgumentError(
            f"diff: the random values of {', '.join(random[:5])} in {name} cannot be fixed, so "
            "images cannot be compared one by one. Use the graph without them."
        )
    return graph, port, fixed


def _upper_end(node: Node) -> float | int | None:
    """Return the upper end of a random generator's range; None if the node is not a generator."""
    if node.inputs:
        return None
    if node.op == "random.coin_flip":
        return 1
    bounds = node.args.get("range", (-1.0, 1.0))
    if node.op == "random.uniform" and isinstance(bounds, tuple) and "values" not in node.args:
        return float(bounds[1])  # type: ignore[arg-type]  # two numbers
    return None


def _split_crops(graph: Graph, port: Port) -> tuple[Graph, Port]:
    """Split each ``crop_mirror_normalize`` that crops into two nodes.

    Returns the graph and the port.
    """
    for node in graph.nodes:
        cropped = [each for each in _CROP[:3] if each in node.args or each in node.inputs]
        if node.op != "crop_mirror_normalize" or not cropped:
            continue
        moved = [each for each in (*_CROP, *_CROP_EDGE) if each in node.args]
        fed = {each: node.inputs[each] for each in _CROP if each in node.inputs}
        crop_id = f"{node.id}_crop"
        crop = Node(
            crop_id, "crop", {each: node.args[each] for each in moved},
            {"data": node.inputs["data"], **fed},
        )  # fmt: skip
        rest = node.without([*moved, *fed])
        rest = rest.fed({**rest.inputs, "data": Port(crop_id, "output")})
        graph = graph.substitute(node.id, crop, rest)
    return graph, port


def _steps(graph: Graph, port: Port, name: str, group: str) -> list[Step]:
    """Return one step for each node between the encoded images and a port."""
    catalog, path = load_catalog(), []
    reader = graph.sources[0].id
    at = port
    while at.node != reader:
        node = graph.node(at.node)
        path.append(Call(node, (node,), Port("", ""), at))
        main = catalog[node.op].inputs[0].name if catalog[node.op].inputs else "data"
        following = node.inputs.get("data") or node.inputs.get(main)
        if node.bodies or following is None:  # a block: the rest is one step
            break
        path[-1] = replace(path[-1], entry=following)
        at = following
    calls = [each for each in reversed(path) if each.entry.node]
    if len(calls) < len(path) or not calls or calls[0].entry.node != reader:
        decoder = next((each for each in graph.nodes if each.op == "decoders.image"), None)
        if decoder is None:
            raise ArgumentError(
                f"diff: {name} has no node with the operator decoders.image. Add one."
            )
        calls = [Call(decoder, (decoder,), decoder.inputs["data"], Port(decoder.id, "output"))]
        calls.append(Call(graph.node(port.node), (graph.node(port.node),), calls[0].exit, port))
    on_path = {call.node.id for call in calls}
    found = []
    for call in _with_arguments(graph, calls):
        kinds = [kind for each in call.nodes if each.id in on_path for kind in _kinds(each)]
        text = call_text(call.node)
        found.append(Step(tuple(dict.fromkeys(kinds)), text, group, call, _key(call, group)))
    return found


def _with_arguments(graph: Graph, calls: Sequence[Call]) -> list[Call]:
    """Add to each call the nodes that compute its arguments.

    Two calls become one if arguments of the second call are computed from an earlier image.
    """
    found: list[Call] = []
    done: set[str] = {graph.sources[0].id}
    for call in calls:
        needed = ancestors(graph, [call.exit]) - done
        nodes = tuple(each for each in graph.nodes if each.id in needed)
        path = {each.exit.node for each in found[:-1]}
        reached = {port.node for each in nodes for port in each.inputs.values()}
        if found and reached & (path | {graph.sources[0].id}):
            last = found.pop()
            nodes = (*last.nodes, *(each for each in nodes if each not in last.nodes))
            call = replace(call, nodes=nodes, entry=last.entry)
        else:
            call = replace(call, nodes=nodes)
        found.append(call)
        done |= needed
    return found


def _kinds(node: Node) -> tuple[str, ...]:
    if node.op == "crop_mirror_normalize" and node.args.get("mirror"):
        return ("flip", TAIL)
    return ("colour",) if node.op in _COLOURS else (_KINDS.get(node.op, node.op),)


def call_text(node: Node) -> str:
    """Return the source code of a node, such as ``fn.resize(size=(224, 224))``."""
    given = ", ".join(f"{key}={value!r}" for key, value in node.args.items())
    return f"fn.{node.op}({given})"


def changed_step(step: Step, call: Call) -> Step:
    """Return a copy of the step that runs ``call``."""
    return replace(step, payload=call, key=_key(call, step.group), text=call_text(call.node))


def _key(call: Call, group: str) -> str:
    return repr(call) + (_MIXED if group.endswith(_MIXED) else "")


class DaliBackend:
    """Runs steps of graphs in a worker process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._start = decoded_images("memory")

    def __call__(self, steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
        """Apply steps to images."""
        return self.run_all([steps], items)[0]

    def run_all(
        self, variants: Sequence[Sequence[Step]], items: Sequence[Item]
    ) -> list[list[Item]]:
        """Apply several sequences of steps to the same images, in one graph."""
        reader, decoder = self._start.nodes
        at = Port(reader.id, "jpegs")
        nodes: list[Node] = [reader]
        if isinstance(items[0], np.ndarray):
            grey = all(isinstance(each, np.ndarray) and each.shape[2] == 1 for each in items)
            decode = decoder.with_args({"output_type": "GRAY" if grey else "RGB"})
            nodes.append(replace(decode, id=_START, inputs={"data": at}))
            at = Port(_START, "output")
        ends: list[Port] = []
        for number, steps in enumerate(variants):
            made, end = _chained([step.payload for step in steps], at, f"_{number}")
            nodes += made
            ends.append(end)
        outputs = {f"images_{number}": end for number, end in enumerate(ends)}
        graph = replace(self._start, nodes=tuple(nodes), outputs=outputs)
        device: DecodeDevice = "mixed" if variants[0][0].group.endswith(_MIXED) else "cpu"
        graph = graph.with_settings(batch_size=len(items), device=device)
        data = {PARAMETER: open_dataset([_as_input(each) for each in items])}
        answers: list[list[tuple[str, NDArray[Any]]]] = self._engine.call(
            run_images, graph, data, ends
        )
        return [[Failed(why) if why else image for why, image in each] for each in answers]


def program_graph(steps: Sequence[Step]) -> Graph:
    """Return a graph that reads a folder in order and applies these steps."""
    start = decoded_images("folder")
    reader = start.nodes[0]
    nodes, end = _chained([step.payload for step in steps], Port(reader.id, "jpegs"), "_run")
    graph = replace(start, nodes=(reader, *nodes), outputs={"images": end})
    return graph.with_settings(batch_size=_PROGRAM_BATCH)


_START = "first_decode"
_PROGRAM_BATCH = 8


def _chained(calls: Sequence[Call], at: Port, suffix: str) -> tuple[list[Node], Port]:
    """Return renamed nodes of ``calls``, connected to the port ``at``, and the last output port."""
    names = {node.id: f"{node.id}{suffix}" for call in calls for node in call.nodes}
    ports: dict[Port, Port] = {}
    nodes: list[Node] = []
    for call in calls:
        ports[call.entry] = at
        for node in call.nodes:
            for port in node.inputs.values():
                if port.node in names:
                    ports.setdefault(port, Port(names[port.node], port.output))
        for node in call.nodes:
            nodes += renamed_nodes([node.rewire(ports)], {node.id: names[node.id]})
        at = Port(names[call.exit.node], call.exit.output)
        ports[call.exit] = at
    return nodes, at


def _as_input(item: Item) -> Any:
    if isinstance(item, np.ndarray) and (item.dtype != np.uint8 or item.ndim != 3):
        raise PipelineError(f"DALI receives {item.dtype} {item.shape}, not a uint8 image.")
    return np.ascontiguousarray(item) if isinstance(item, np.ndarray) else item


@task
def run_images(
    worker: Worker, graph: Graph, data: Datasets, ports: list[Port]
) -> list[list[tuple[str, NDArray[Any]]]]:
    """Task: run a graph on all samples. Returns a list of (error, image) for each port."""
    run = worker.runner.run(graph, data, 0, graph.settings.batch_size, ports)
    return [
        [
            (sample.error, np.ascontiguousarray(array))
            for sample, array in zip(run.samples, run.batches[port].arrays(), strict=True)
        ]
        for port in ports
    ]
