"""The calls inside a reader's function of an exported program, as the one call that they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.catalog.spec import Device
from workbench.emit.pipeline_import.trace.traced import TracedOp, TracedPipeline
from workbench.sources import load_source, source_kinds


def without_reader_calls(pipeline: TracedPipeline) -> TracedPipeline:
    """The pipeline with one call for each call of a ``SourceKind.reader``.

    It gives two things: what is used of it or else what DALI's reader gives first, and what the
    function makes last; of more, what DALI's reader gives first and what is used of the casts that
    are called as its outputs. What pixels are read on the GPU were decoded where the setting said.
    """
    kinds = map(load_source, source_kinds())
    readers = {kind.reader.__name__: kind for kind in kinds if kind.reader is not None}
    groups: dict[tuple[object, ...], list[TracedOp]] = {}
    for op in pipeline.ops:
        depth = _depth(op, readers)
        if depth is not None:
            groups.setdefault(op.places[:depth], []).append(op)
    folded: dict[str, TracedOp] = {}
    inside: set[str] = set()
    for calls in groups.values():
        reader = next((op for op in calls if op.schema.startswith(_READERS)), None)
        if reader is None:
            continue
        inside |= {op.name for op in calls}
        depth = _depth(reader, readers) or 0
        kind = readers[reader.places[depth].function]
        names = {op.name for op in calls}
        used = {e.edge: e.device for op in pipeline.ops if op.name not in names for e in op.inputs}
        used |= {edge.edge: edge.device for edge in pipeline.outputs}
        (last, side), made = calls[-1].outputs[-1], [e for op in calls for e in op.outputs]
        first = next((e for e in made if e[0] in used and e[0] != last), reader.outputs[0])
        between: list[tuple[str, Device]] = []
        if len(kind.outputs) > 2:  # encoded images, which the reader itself gives
            first = reader.outputs[0]
            known = [e for e in made if e[0] in used and e[0] not in (first[0], last)]
            between = (known or [reader.outputs[1]])[: len(kind.outputs) - 2]
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
    kept = (folded.get(op.name, op) for op in pipeline.ops)
    ops = tuple(op for op in kept if op.name in folded or op.name not in inside)
    return replace(pipeline, ops=ops) if folded else pipeline


_READERS = ("readers__", "experimental__readers__", "ExternalSource")
"""How DALI's registry names readers begin."""


def _depth(op: TracedOp, readers: Collection[str]) -> int | None:
    """How many frames of its stack stand outside the reader's function; None: it is not in one."""
    names = [place.function for place in op.places]
    return next((depth for depth, name in enumerate(names) if name in readers), None)
