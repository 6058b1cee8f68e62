"""Export a graph as a model repository for Triton's DALI backend, and a client.

The backend runs ``1/model.dali`` if that file exists, and otherwise serialises ``1/dali.py``. The
file names are fixed (``src/dali_model.h`` of triton-inference-server/dali_backend).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.core.outputs import Outputs, first_reader
from workbench.emit.core.python import LINE, call, signature
from workbench.emit.core.user_functions import require_no_own_code
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.rendering import render, render_program
from workbench.emit.templates.template_parts import (
    body_of,
    function_name,
    make_parts,
    needs_conditionals,
    return_statement,
)
from workbench.errors import GraphExportError
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of
from workbench.graph.model.values import elements
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.validation import inference_graph
from workbench.sources import SERVED

_INPUT = "IMAGE"
_VIDEO = "experimental.inputs.video"
_DTYPES = {
    "BOOL": "TYPE_BOOL", "FLOAT16": "TYPE_FP16", "FLOAT": "TYPE_FP32", "FLOAT64": "TYPE_FP64",
    "INT8": "TYPE_INT8", "INT16": "TYPE_INT16", "INT32": "TYPE_INT32", "INT64": "TYPE_INT64",
    "UINT8": "TYPE_UINT8", "UINT16": "TYPE_UINT16", "UINT32": "TYPE_UINT32",
    "UINT64": "TYPE_UINT64",
}  # fmt: skip
_SERIALISED = "Triton runs a pipeline serialised by DALI, without Python"
_PYTHON = {"dl_tensor_python_function", "external_source"}


def emit_triton(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create a model repository whose model has no random augmentation, and a client."""
    served, changed, removed = inference_graph(resolved)
    random = [*changed, *removed]
    if random and check_graph(served, resolved.catalog):
        raise GraphExportError(
            f"{random[0]}: the Triton model omits random operators, but the graph cannot run "
            f"without {', '.join(random)}. Mute the nodes that are only for training, or export "
            "with training."
        )
    return _emit(resolved.variant(served), " ".join(inference_notes(resolved)))


def inference_notes(resolved: ResolvedGraph) -> Sequence[str]:
    """Return sentences about differences between the model and the graph."""
    served, changed, removed = inference_graph(resolved)
    outputs = _image_outputs_only(resolved.variant(served)).graph.outputs
    notes = [
        *changed.values(),
        *([f"{', '.join(removed)}: omitted, because random."] if removed else []),
    ]
    lost = [name for name in resolved.graph.outputs if name not in outputs]
    if lost:
        notes.append(
            f"{', '.join(lost)}: not an output, because not computed from the image of a request."
        )
    return notes


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create a model repository whose model includes random augmentation, and a client."""
    return _emit(resolved, "")


def _emit(resolved: ResolvedGraph, note: str) -> Mapping[str, Code]:
    graph, catalog = resolved.graph, resolved.catalog
    pipelines = graph.settings.pipelines  # for a server these are instances that share requests
    alone = replace(graph, settings=changed_settings(graph.settings, {"pipelines": 1}))
    served = _image_outputs_only(resolved.variant(alone))
    nodes, outputs = served.nodes, served.outputs
    _require_serialisable(nodes, catalog)
    emitter = Emitter(served, nodes, lift=True)
    parts = make_parts(emitter, *_definition(emitter, catalog))
    name = parts.function.removesuffix("_pipeline")
    readers = [node for node in nodes if isinstance(node, Source)]
    inputs = [_input(node) for node in readers]
    streams = readers[0].op == _VIDEO
    config = render(
        "triton_config.pbtxt.j2",
        {
            "name": name,
            "inputs": inputs,
            "streams": streams,
            "batch_size": graph.settings.batch_size,
            "num_threads": graph.settings.num_threads,
            "outputs": [_output(served.graph, outputs, output) for output in outputs],
            "instances": pipelines,
            "on_gpu": graph.settings.device == "mixed" or parts.needs_gpu,
        },
    )
    arrays = any(node.op == "array_request" for node in readers)
    client = {"name": name, "inputs": inputs, "outputs": [*outputs], "arrays": arrays}
    model = render_program(
        "triton_model.py.j2",
        parts,
        conditionals=needs_conditionals(nodes),
        told="\n".join(wrap(note or _augmentation_notes(emitter, catalog), LINE)),
        input="" if arrays or streams else inputs[0]["name"],
        sent="a video" if streams else "arrays" if arrays else "encoded images",
    )
    return {
        f"model_repository/{name}/1/dali.py": model,
        f"model_repository/{name}/config.pbtxt": Code(config, {}),
        "client.py": Code(render(f"triton_{'stream_' * streams}client.py.j2", client), {}),
    }


def _augmentation_notes(emitter: Emitter, catalog: Catalog) -> str:
    """Return a note that lists the random nodes, or an empty string if there are none."""
    random_nodes = [
        node.id
        for node in emitter.every_node()
        if not isinstance(node, Source) and (catalog[node.op].seeded or catalog[node.op].module)
    ]
    if not random_nodes:
        return ""
    named = ", ".join(random_nodes[:6]) + (", ..." if len(random_nodes) > 6 else "")
    return f"Random for each request: {named}."


def _input_name(reader: Node) -> str:
    """Return the name of a model input: the id of a request, or ``IMAGE`` for other sources."""
    return reader.id if reader.op in SERVED else _INPUT


def _input(reader: Node) -> dict[str, Any]:
    """Return the description of a model input for the templates."""
    dtype, dims = "UINT8", [-1]
    if reader.op == "array_request":
        dtype, dims = (
            str(reader.args["dtype"]),
            [int(str(n)) for n in elements(reader.args["shape"])],
        )
    about = "the bytes of a file, such as a JPEG" if dims == [-1] and dtype == "UINT8" else ""
    name = _input_name(reader)
    return {"name": name, "dtype": _DTYPES[dtype], "dims": dims, "about": about, "op": reader.op}


def _image_outputs_only(resolved: ResolvedGraph) -> ResolvedGraph:
    """Remove outputs that are not computed from an image, such as labels."""
    graph, catalog = resolved.graph, resolved.catalog
    readers = [node for node in resolved.nodes if isinstance(node, Source)]
    require_no_own_code(readers, _SERIALISED)
    encoded = {port for reader in readers for port in _sent_ports(reader, catalog)}

    def comes_from_images(port: Port) -> bool:
        made = [graph.node(name) for name in ancestors(graph, [port])]
        fed = {source for node in made for source in node.inputs.values()}
        if port in encoded and graph.node(port.node).op in SERVED:
            return True
        return not encoded.isdisjoint(fed) or not any(isinstance(node, Source) for node in made)

    outputs = {name: port for name, port in graph.outputs.items() if comes_from_images(port)}
    if not outputs and encoded:
        raise GraphExportError(
            f"{readers[0].id}: no output is computed from an image, but a Triton client sends "
            "one. Make an image an output."
        )
    return replace(resolved, graph=replace(graph, outputs=outputs or graph.outputs))


def _require_serialisable(nodes: Sequence[Node], catalog: Catalog) -> None:
    require_no_own_code(nodes, _SERIALISED)
    first = first_reader(nodes)
    readers = [node for node in nodes if isinstance(node, Source)]
    for reader in readers[1:]:
        if reader.op not in SERVED or first.op not in SERVED or _VIDEO in (first.op, reader.op):
            raise GraphExportError(
                f"{reader.id}: a Triton client sends one image, which {first.id!r} already reads. "
                "Remove one of the two readers."
            )
    if first.op == _VIDEO and first.args.get("last_sequence_policy") != "pad":
        raise GraphExportError(
            f"{first.id}: the last sequence of a video may be shorter, but Triton requires "
            "sequences of one length. Set last_sequence_policy to pad."
        )
    sent = [port for reader in readers for port in _sent_ports(reader, catalog)]
    if not sent:
        raise GraphExportError(
            f"{first.id}: a Triton client sends encoded images, arrays or videos, but {first.op} "
            "decodes files itself. Use image files, or a request (array_request or "
            "experimental.inputs.video)."
        )
    read = {port for node in nodes for port in node.inputs.values()}
    images = [str(port) for port in sent if port in read and port.node == first.id]
    if first.op not in SERVED and len(images) > 1:
        raise GraphExportError(
            f"{first.id}: a Triton client sends one image, but the outputs are computed from "
            f"{' and '.join(images)}. Remove the outputs of all images but one."
        )
    for node in nodes:
        for name, port in node.inputs.items():
            if port.node == first.id and port not in sent:
                raise GraphExportError(
                    f"{node.id}.{name} is connected to {port}, which a Triton client does not "
                    f"send. Remove {node.id!r}."
                )
        if isinstance(node, Source):
            continue
        if any(catalog[node.op].args[name].kind == "object" for name in node.args) or (
            node.op in _PYTHON and not isinstance(node, Source)
        ):
            raise GraphExportError(
                f"{node.id}: {node.op} calls Python, which DALI cannot serialise for Triton. "
                "Remove the node."
            )


def _sent_ports(reader: Node, catalog: Catalog) -> list[Port]:
    """Return the outputs of a source that a client sends: encoded images, or all of a request."""
    outputs = outputs_of(reader, catalog[reader.op])
    served = reader.op in SERVED
    return [Port(reader.id, each.name) for each in outputs if served or each.kind == "encoded"]


def _definition(emitter: Emitter, catalog: Catalog) -> tuple[list[str], str, Mapping[str, range]]:
    """Return the pipeline function that reads a client's data: its code, name and node lines."""
    function = function_name(emitter.graph)
    head = signature(function, "device: str = DEVICE, base_seed: int = SEED")
    readers = [node for node in emitter.ordered if isinstance(node, Source)]
    read = {port for node in emitter.ordered for port in node.inputs.values()}
    for reader in readers:
        sent = _sent_ports(reader, catalog)
        variable = emitter.names[next((port for port in sent if port in read), sent[0])]
        named, args = f'name="{_input_name(reader)}"', emitter.value_arguments(reader)[1:]
        if reader.op == _VIDEO:
            head += call(variable, "fn.experimental.inputs.video", ["device=device", named, *args])
            continue
        if reader.op == "array_request":
            args = [each for each in args if not each.startswith("shape=")]
            args.append(f"ndim={len(_input(reader)['dims'])}")
        else:
            args = ["dtype=types.UINT8", "ndim=1"]
        head += call(variable, "fn.external_source", ['device="cpu"', named, *args])
    nodes = [node for node in emitter.ordered if node not in readers]
    body, lines = body_of(emitter, nodes, len(head))
    tail = return_statement([emitter.names[port] for port in emitter.graph.outputs.values()])
    return [*head, *body, *tail], function, lines


def _output(graph: Graph, outputs: Outputs, name: str) -> dict[str, Any]:
    flow, node = outputs[name], graph.outputs[name].node
    if flow.dtype not in _DTYPES or flow.shape is None:
        raise GraphExportError(
            f"{node}: Triton requires the type and the number of axes of {name!r}, which depend "
            f"on the data. Set the dtype of {node!r}, or remove the output {name!r}."
        )
    dims = [-1 if extent is None else extent for extent in flow.shape]
    return {"name": name, "dtype": _DTYPES[flow.dtype], "dims": dims}


TARGET = Target(
    "a model repository for its DALI backend, and a client",
    emit_triton,
    side_by_side=True,
    training=emit_training,
    skips_bad=False,
    notes=inference_notes,
)
