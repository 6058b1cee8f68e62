"""Export a graph as a PyTorch dataset, sampler and loader whose workers use DALI Proxy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import (
    first_reader,
    require_arrays,
    require_even,
    require_one_size,
    require_signed,
)
from workbench.emit.core.python import call, literal, signature
from workbench.emit.core.seed_sequence import pipeline_seed_is_enough
from workbench.emit.core.views import view_functions
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.rendering import render_program
from workbench.emit.templates.template_parts import (
    TemplateParts,
    body_of,
    function_name,
    make_parts,
    pipeline_decorator,
    policy_imports,
    return_statement,
)
from workbench.emit.templates.transform_module import require_folder
from workbench.errors import GraphExportError
from workbench.graph.model import Node, Port
from workbench.graph.resolved import ResolvedGraph
from workbench.sources.kinds.folder import LIST_IMAGES

_TAKEN = ("Augmented", "Loader", "Photos", "build_pipeline", "make_loader", "np")
"""Additional reserved names of the program."""
_ARGUMENTS = {
    "jpegs": ("dtype=types.UINT8", "ndim=1"),
    "labels": ("dtype=types.INT32", "ndim=1"),
}
"""Arguments of the external source that replaces an output of the reader, by output."""
_VALUES = {
    "jpegs": "np.frombuffer(encoded, np.uint8)",
    "labels": "np.array([label], np.int32)",
}
"""Expression of the value that a worker passes for an output of the reader, by output."""


def emit_proxy(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``loader.py``."""
    graph, outputs = resolved.graph, resolved.outputs
    require_folder(resolved.nodes, "proxy")
    require_arrays(graph, outputs, "proxy")
    require_even(graph, outputs, "proxy")
    require_one_size(graph, outputs, [], "proxy")
    require_signed(graph, outputs, "proxy")
    reader = first_reader(resolved.nodes)
    label = Port(reader.id, "labels")
    made = {name: port for name, port in graph.outputs.items() if port != label}
    if not made:
        raise GraphExportError(
            f"{reader.id}: the graph outputs only labels, which PyTorch reads without DALI. Make "
            "an image an output."
        )
    part = replace(resolved, graph=replace(graph, outputs=made))
    emitter = Emitter(part, part.nodes, lift=True, taken=_TAKEN)
    parts, inputs = _parts(emitter)
    root = reader.args.get("file_root")
    names = ", ".join(f"``{name}``" for name in outputs)
    return {
        "loader.py": render_program(
            "proxy.py.j2",
            parts,
            inputs=[f"{emitter.names[port]}={_VALUES[port.output]}" for port in inputs],
            made=[*made],
            passed=[name for name in outputs if name not in made],
            listed=names if len(names) < 40 else f"the {len(outputs)} outputs of the graph",
            root="" if root is None else literal(root),
            shuffle=_shuffles(reader),
            uses_labels=label in [*inputs, *graph.outputs.values()],
        )
    }


def _parts(emitter: Emitter) -> tuple[TemplateParts, Sequence[Port]]:
    """Return the pipeline with inputs in place of its reader, and the reader ports they replace."""
    graph, catalog, nodes = emitter.graph, emitter.catalog, emitter.ordered
    reader = first_reader(nodes)
    policies = policy_imports(emitter.every_node(), catalog)
    emitter.seed_name = "base_seed" if policies else "seed"
    if pipeline_seed_is_enough(graph, catalog, nodes):
        emitter.seed_name = ""
    views, steps = view_functions(emitter)
    fed = {port for node in nodes for port in node.inputs.values()} | {*graph.outputs.values()}
    inputs = [
        port
        for output in catalog[reader.op].outputs
        if (port := Port(reader.id, output.name)) in fed
    ]
    function = function_name(graph)
    own = f", {emitter.seed_name}: int" if emitter.seed_name else ""
    operators = [node for node in nodes if node is not reader]
    head = [*views.text, pipeline_decorator(operators)]
    head += signature(function, f"device: str{own}")
    for port in inputs:
        name = emitter.names[port]
        head += call(name, "fn.external_source", [f'name="{name}"', *_ARGUMENTS[port.output]])
    body, lines = body_of(emitter, [node for node in steps if node is not reader], len(head))
    tail = return_statement([emitter.names[port] for port in graph.outputs.values()])
    parts = make_parts(emitter, [*head, *body, *tail], function, lines | views.nodes)
    return (
        replace(
            parts,
            parameters=[],
            finder=f"{LIST_IMAGES}\n\n{emitter.functions()}",
            finder_imports=["import os"],
        ),
        inputs,
    )


def _shuffles(reader: Node) -> bool:
    """Return True if the reader shuffles. In the export, PyTorch's sampler shuffles instead."""
    return bool(reader.args.get("random_shuffle") or reader.args.get("shuffle_after_epoch"))


def proxy_notes(resolved: ResolvedGraph) -> Sequence[str]:
    """Return sentences about differences between the program's batches and the graph's."""
    reader = first_reader(resolved.nodes)
    if not _shuffles(reader):
        return []
    return [
        f"{reader.id}: PyTorch's sampler shuffles instead of DALI's reader, so a batch has other "
        "samples than in the preview. Samples in the same order give the same batches, bit for "
        "bit."
    ]


TARGET = Target(
    "DALI Proxy: PyTorch's dataset, sampler and workers; DALI augments",
    emit_proxy,
    skips_bad=False,
    notes=proxy_notes,
)
