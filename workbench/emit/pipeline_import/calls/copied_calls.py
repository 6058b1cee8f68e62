"""Replace the calls inside an exported program's copied functions with the original operators.

Calls in copied functions that transform annotations are not replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Device
from workbench.emit.annotations.copied_functions import copied_helpers_in
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.graph.annotations.formats import BOX_CROP, CLIP_FUNCTIONS, clip_function
from workbench.graph.model import Node
from workbench.sources import SAMPLER, SourceKind, load_source, source_kinds


def kinds_by_reader() -> dict[str, SourceKind]:
    """Map the name of each generated reading function to the source kind that it reads."""
    kinds = [load_source(kind) for kind in source_kinds()]
    readers = [(reader, kind) for kind in kinds for reader in (kind.sampled, kind.reader)]
    return {reader.__name__: kind for reader, kind in readers if reader is not None}


def kinds_by_finder() -> dict[str, str]:
    """Map each function that finds files in exports (``find_files``) to its source kind."""
    sampled = [kind for kind in source_kinds() if load_source(kind).sampled is not None]
    finders = {load_source(f"{kind}:{SAMPLER}").find.__name__: kind for kind in sampled}
    return finders | {load_source(kind).find.__name__: kind for kind in source_kinds()}


def without_reader_calls(pipeline: TracedPipeline) -> TracedPipeline:
    """Replace the calls inside each generated reading function with one call of the reader.

    The outputs of this call are those of the function's source kind. Pixels used on the GPU are
    assumed to be decoded on the device in the graph's settings.
    """
    readers = kinds_by_reader()
    folded: dict[str, TracedOp] = {}
    inside: set[str] = set()
    for depth, calls in _grouped(pipeline.ops, readers):
        reader = next((op for op in calls if op.schema.startswith(_READERS)), None)
        if reader is None:
            continue
        inside |= {op.name for op in calls}
        kind = readers[reader.places[depth].function]
        names = {op.name for op in calls}
        used = {e.edge: e.device for op in pipeline.ops if op.name not in names for e in op.inputs}
        used |= {edge.edge: edge.device for edge in pipeline.outputs}
        (last, side), made = calls[-1].outputs[-1], [e for op in calls for e in op.outputs]
        first = next((e for e in made if e[0] in used and e[0] != last), reader.outputs[0])
        between: list[tuple[str, Device]] = []
        if len(kind.outputs) > 2:  # encoded images, which the reader itself outputs
            if reader.outputs[0][0] in used:  # not the file names that a sampler outputs
                first = reader.outputs[0]
            known = [e for e in made if e[0] in used and e[0] not in (first[0], last)]
            between = (known or [*reader.outputs[1:2]])[: len(kind.outputs) - 2]
        device = reader.device
        if kind.pixels:
            on_gpu = "gpu" in (device, used.get(first[0]))
            device, side = ("mixed" if on_gpu else "cpu"), "cpu"
            first = first[0], "gpu" if on_gpu else "cpu"
        outputs, ports = (first, *between, (last, side)), reader.ports
        if len(kind.outputs) > 3:
            named = {op.places[depth].text.partition(" = ")[0].strip(): op for op in calls}
            ports = (kind.outputs[0], *(name for name in kind.outputs[1:] if name in named))
            outputs = (first, *(named[name].outputs[0] for name in ports[1:]))
        if kind.pixels and len(reader.outputs) > 2:  # outputs that options add
            copies = {edge.edge: op.outputs[0] for op in calls for edge in op.inputs}
            others = [copies.get(edge, (edge, side)) for edge, _ in reader.outputs[1:]]
            first = reader.outputs[0][0], first[1]
            outputs = (first, *others)
        if len(kind.outputs) == 1:  # computed in the function
            outputs = (next((e for e in made if e[0] in used), first),)
            outputs = ((outputs[0][0], first[1]),) if kind.pixels else outputs
        if len(ports) != len(outputs):  # those of one call of external_source
            ports = ()
        folded[reader.name] = replace(
            reader,
            schema=reader.schema.replace("___", "__"),  # DALI's own name of the TFRecord reader
            refused=None,
            device=device,
            outputs=outputs,
            ports=ports,
            places=reader.places[:depth],
            display=reader.places[depth].function,
        )
    rest = (folded.get(op.name, op) for op in pipeline.ops)
    ops = tuple(op for op in rest if op.name in folded or op.name not in inside)
    return replace(pipeline, ops=ops) if folded else pipeline


_READERS = ("readers__", "experimental__readers__", "ExternalSource")
"""Name prefixes of readers in DALI's registry."""


def without_clipping(pipeline: TracedPipeline, sources: Mapping[str, str]) -> TracedPipeline:
    """Remove calls of copied clipping functions, and connect box crops to the unclipped boxes.

    An exported program clips boxes with such a function, and every export of the graph adds it
    again.
    """
    replaced: dict[str, TracedInput] = {}
    inside: set[str] = set()
    for depth, calls in _grouped(pipeline.ops, CLIP_FUNCTIONS):
        place = calls[0].places[depth]
        made = {edge for op in calls for edge, _ in op.outputs}
        boxes = {edge for op in calls for edge in op.inputs if edge.edge not in made}
        readers = [(op, edge) for op in pipeline.ops if op not in calls for edge in op.inputs]
        users = [op for op, edge in readers if edge.edge in made]
        if (
            len(boxes) == len(users) == 1
            and not made & {edge.edge for edge in pipeline.outputs}
            and place.function in copied_helpers_in(sources.get(place.file, ""))
            and _clips_boxes(users[0], place.function, calls, made)
        ):
            replaced[users[0].name] = boxes.pop()
            inside |= {op.name for op in calls}
    ops = (
        replace(op, inputs=(replaced[op.name], *op.inputs[1:])) if op.name in replaced else op
        for op in pipeline.ops
        if op.name not in inside
    )
    return replace(pipeline, ops=tuple(ops)) if inside else pipeline


def _clips_boxes(
    user: TracedOp, function: str, calls: Sequence[TracedOp], edges: Collection[str]
) -> bool:
    """Return True if an export would clip the input boxes of ``user`` by the same call."""
    if user.schema != "RandomBBoxCrop" or user.inputs[0].edge not in edges:
        return False
    expected, axes = clip_function(Node("", BOX_CROP, user.args)) or ("", 0)
    same_axes = not axes or calls[-1].args.get("shape") == (-1, 2 * axes)
    return function == expected and same_axes


def _grouped(
    ops: Iterable[TracedOp], functions: Collection[str]
) -> Iterator[tuple[int, list[TracedOp]]]:
    """Yield (number of outer frames, calls inside) for each call of these functions."""
    groups: dict[tuple[int, str, tuple[SourceLocation, ...]], list[TracedOp]] = {}
    for op in ops:
        names = [place.function for place in op.places]
        depth = next((depth for depth, name in enumerate(names) if name in functions), None)
        if depth is not None:
            groups.setdefault((depth, names[depth], op.places[:depth]), []).append(op)
    for (depth, *_), calls in groups.items():
        yield depth, calls
