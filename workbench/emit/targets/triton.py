"""Triton: a model repository for its DALI backend, and a client.

The backend runs ``1/model.dali`` where there is one and else serialises ``1/dali.py``: the names
are its own (``src/dali_model.h`` of triton-inference-server/dali_backend).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import Template
from textwrap import wrap

from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.core.outputs import Outputs, first_reader
from workbench.emit.core.own_code import require_no_own_code
from workbench.emit.core.python import LINE, call, constant, signature
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import quoted_list
from workbench.emit.templates.template_parts import (
    body_of,
    fill_template,
    function_name,
    make_parts,
    needs_conditionals,
    return_statement,
)
from workbench.errors import GraphExportError
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.variants.inference import inference_graph

_MODEL = '''\
"""$title

A model of Triton's DALI backend: encoded images in, what the pipeline gives out. The
backend serialises this file itself; where its Python has no DALI, do it beforehand.
$draws
Usage: python dali.py [--out FILE] [--warm-up PHOTO]    (writes model.dali beside this file)

Needs nvidia-dali-cuda120.
"""

import argparse
from pathlib import Path

from nvidia.dali import fn$math, pipeline_def$imports
${policies}from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.triton import autoserialize

$constants


@autoserialize
@pipeline_def(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=$decorated_device,$conditionals$decorated_seed
)
$definition


WARM_UP = """
model_warmup [
  {
    name: "a photo"
    batch_size: BATCH_SIZE
    inputs {
      key: "$input"
      value: { data_type: TYPE_UINT8 dims: [ SIZE ] input_data_file: "photo" }
    }
  }
]
"""


def warm_up(photo: Path) -> None:
    """Let the server answer for this photo before it says that it is ready."""
    folder = Path(__file__).parents[1]
    folder.joinpath("warmup").mkdir(exist_ok=True)
    folder.joinpath("warmup", "photo").write_bytes(photo.read_bytes())
    config = folder.joinpath("config.pbtxt")
    text = WARM_UP.replace("BATCH_SIZE", str(BATCH_SIZE))
    text = text.replace("SIZE", str(photo.stat().st_size))
    config.write_text(config.read_text().partition("\\nmodel_warmup")[0] + text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the serialised model.")
    parser.add_argument("--out", default=Path(__file__).with_name("model.dali"))
    parser.add_argument("--warm-up", type=Path, metavar="PHOTO", help="to answer first")
    args = parser.parse_args()
    pipe = $function()
    pipe.serialize(filename=str(args.out))
    if args.warm_up:
        warm_up(args.warm_up)
    print(args.out)


if __name__ == "__main__":
    main()
'''

_CONFIG = """\
# Triton's DALI backend runs 1/model.dali, or serialises 1/dali.py where there is none.
name: "$name"
backend: "dali"
max_batch_size: $batch_size

input [
  {
    name: "$input"
    data_type: TYPE_UINT8
    dims: [ -1 ]  # the bytes of a file, such as a JPEG
    allow_ragged_batch: true
  }
]

output [
$outputs
]

# Requests that come together are answered as one batch.
dynamic_batching { max_queue_delay_microseconds: 500 }

instance_group [ { ${count}kind: $kind } ]

parameters: [
  {
    key: "num_threads"
    value: { string_value: "$num_threads" }
  }
]
"""

_OUTPUT = """\
  {
    name: "$name"
    data_type: $dtype
    dims: [ $dims ]
  }"""

_CLIENT = '''\
"""Sends an image to the model ``$name`` on a Triton server.

Usage: python client.py PHOTO.jpg [--url HOST:PORT] [--save FILE.npz]
       python client.py PHOTO.jpg --requests 1000 --clients 16    (measures the server)

Needs numpy and tritonclient[http].
"""

import argparse
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import tritonclient.http as triton

MODEL = "$name"
INPUT = "$input"
$outputs


def measure(url: str, image: triton.InferInput, requests: int, clients: int) -> None:
    """Print how many requests a second are answered, and how long one takes."""
    own = threading.local()  # a client is one thread's

    def ask(number: int) -> float:
        if not hasattr(own, "client"):
            own.client = triton.InferenceServerClient(url)
        start = time.perf_counter()
        own.client.infer(MODEL, [image])
        return time.perf_counter() - start

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(4 * clients)))  # warm-up
        start = time.perf_counter()
        latencies = sorted(pool.map(ask, range(requests)))
        seconds = time.perf_counter() - start
    median, late = (1000 * latencies[int(share * requests)] for share in (0.5, 0.95))
    print(f"{requests / seconds:.1f} requests/s from {clients} clients")
    print(f"latency: median {median:.1f} ms, 95 % within {late:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Send an image to Triton.")
    parser.add_argument("image", type=Path, help="JPEG, PNG, or what else DALI decodes")
    parser.add_argument("--url", default="localhost:8000", help="its HTTP port")
    parser.add_argument("--save", metavar="FILE.npz", help="keep the arrays")
    parser.add_argument("--requests", type=int, default=0, help="measure so many")
    parser.add_argument("--clients", type=int, default=8, help="that ask at a time")
    args = parser.parse_args()

    encoded = np.fromfile(args.image, np.uint8)[np.newaxis]  # a batch of one
    image = triton.InferInput(INPUT, encoded.shape, "UINT8")
    image.set_data_from_numpy(encoded)
    with triton.InferenceServerClient(args.url) as client:
        answer = client.infer(MODEL, [image])
    arrays = {name: answer.as_numpy(name) for name in OUTPUTS}
    for name, array in arrays.items():
        print(f"{name}: {array.dtype} {array.shape}, mean {array.mean():.3f}")
    if args.save:
        np.savez(args.save, **arrays)
    if args.requests:
        measure(args.url, image, args.requests, args.clients)


if __name__ == "__main__":
    main()
'''

_INPUT = "IMAGE"
_DTYPES = {
    "BOOL": "TYPE_BOOL", "FLOAT16": "TYPE_FP16", "FLOAT": "TYPE_FP32", "FLOAT64": "TYPE_FP64",
    "INT8": "TYPE_INT8", "INT16": "TYPE_INT16", "INT32": "TYPE_INT32", "INT64": "TYPE_INT64",
    "UINT8": "TYPE_UINT8", "UINT16": "TYPE_UINT16", "UINT32": "TYPE_UINT32",
    "UINT64": "TYPE_UINT64",
}  # fmt: skip
"""Triton's names of DALI's types."""
_PYTHON = {"dl_tensor_python_function", "external_source"}


def emit_triton(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """A model repository with one model that draws nothing, and a client beside it."""
    served, changed, removed = inference_graph(resolved.graph, resolved.catalog)
    random = [*changed, *removed]
    if random and check_graph(served, resolved.catalog):
        raise GraphExportError(
            f"{random[0]}: triton answers requests, and without what draws ({', '.join(random)}) "
            "the graph does not run. Mute what is for training, or export with training."
        )
    return _emit(resolved.variant(served), " ".join(inference_notes(resolved)))


def inference_notes(resolved: ResolvedGraph) -> Sequence[str]:
    """What the model does otherwise than the graph, a sentence each."""
    served, changed, removed = inference_graph(resolved.graph, resolved.catalog)
    outputs = _served(resolved.variant(served)).graph.outputs
    notes = [
        *changed.values(),
        *([f"{', '.join(removed)}: left out, because random."] if removed else []),
    ]
    lost = [name for name in resolved.graph.outputs if name not in outputs]
    if lost:
        notes.append(f"{', '.join(lost)}: no output, because not made from the image of a request.")
    return notes


def emit_training(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The same with all that draws."""
    return _emit(resolved, "")


def _emit(resolved: ResolvedGraph, told: str) -> Mapping[str, Code]:
    graph, catalog = resolved.graph, resolved.catalog
    pipelines = graph.settings.pipelines  # of a server these are instances: it hands out requests
    alone = replace(graph, settings=replace(graph.settings, pipelines=1))
    served = _served(resolved.variant(alone))
    nodes, outputs = served.nodes, served.outputs
    _require_serialisable(nodes, catalog)
    emitter = Emitter(served, nodes, lift=True)
    parts = make_parts(emitter, *_definition(emitter, catalog))
    name = parts.function.removesuffix("_pipeline")
    needs_gpu = graph.settings.device == "mixed" or parts.device_id == "0"
    config = Template(_CONFIG).substitute(
        name=name,
        input=input_name(nodes),
        batch_size=graph.settings.batch_size,
        num_threads=graph.settings.num_threads,
        outputs=",\n".join(_output(served.graph, outputs, output) for output in outputs),
        count=f"count: {pipelines}, " if pipelines > 1 else "",
        kind="KIND_GPU" if needs_gpu else "KIND_CPU",
    )
    client = Template(_CLIENT).substitute(
        name=name,
        input=input_name(nodes),
        outputs="\n".join(constant("OUTPUTS", quoted_list(outputs))),
    )
    model = fill_template(
        _MODEL,
        parts,
        decorated_device=parts.device_id.replace("device ", "DEVICE "),
        conditionals="\n    enable_conditionals=True," if needs_conditionals(nodes) else "",
        decorated_seed="\n    seed=SEED," if parts.policies else "",
        draws=_paragraph(told or _draws(emitter, catalog)),
        input=input_name(nodes),
    )
    return {
        f"model_repository/{name}/1/dali.py": model,
        f"model_repository/{name}/config.pbtxt": Code(config, {}),
        "client.py": Code(client, {}),
    }


def _draws(emitter: Emitter, catalog: Catalog) -> str:
    """What to know of a pipeline that augments."""
    drawing = [
        node.id
        for node in emitter.every_node()
        if not isinstance(node, Source) and (catalog[node.op].seeded or catalog[node.op].module)
    ]
    if not drawing:
        return ""
    named = ", ".join(drawing[:6]) + (", ..." if len(drawing) > 6 else "")
    return f"It draws anew for each request: {named}."


def _paragraph(text: str) -> str:
    return "\n" + "\n".join(wrap(text, LINE)) + "\n" if text else ""


def input_name(nodes: Sequence[Node]) -> str:
    """What the model's input is called: as the node of a request, else ``IMAGE``."""
    reader = first_reader(nodes)
    return reader.id if reader.op == "request" else _INPUT


def _served(resolved: ResolvedGraph) -> ResolvedGraph:
    """The graph without the outputs that no image gives: labels, and what is made from them."""
    graph, catalog = resolved.graph, resolved.catalog
    readers = [node for node in resolved.nodes if isinstance(node, Source)]
    encoded = {port for reader in readers for port in _encoded_ports(reader, catalog)}

    def comes_from_images(port: Port) -> bool:
        made = [graph.node(name) for name in ancestors(graph, [port])]
        fed = {source for node in made for source in node.inputs.values()}
        return not encoded.isdisjoint(fed) or not any(isinstance(node, Source) for node in made)

    outputs = {name: port for name, port in graph.outputs.items() if comes_from_images(port)}
    if not outputs:
        raise GraphExportError(
            f"{readers[0].id}: every output is what it reads or is made from labels, and Triton "
            "makes outputs of an image that a client sends. Give an image out."
        )
    return replace(resolved, graph=replace(graph, outputs=outputs))


def _require_serialisable(nodes: Sequence[Node], catalog: Catalog) -> None:
    require_no_own_code(nodes, "Triton is given a pipeline that DALI serialises, without Python")
    first = first_reader(nodes)
    readers = [node for node in nodes if isinstance(node, Source)]
    for reader in readers[1:]:
        raise GraphExportError(
            f"{reader.id}: Triton sends one image, and {first.id} takes it already. Leave one "
            "of the two readers out."
        )
    if not _encoded_ports(first, catalog):
        raise GraphExportError(
            f"{first.id}: {first.op} gives no encoded images, which is what a client of "
            "Triton sends. Read files."
        )
    encoded = _encoded_ports(first, catalog)
    for node in nodes:
        for name, port in node.inputs.items():
            if port.node == first.id and port not in encoded:
                raise GraphExportError(
                    f"{node.id}.{name}: it is fed by {port}, which a client of Triton does not "
                    "send. Leave the node out."
                )
        if isinstance(node, Source):
            continue
        if any(catalog[node.op].args[name].kind == "object" for name in node.args) or (
            node.op in _PYTHON and not isinstance(node, Source)
        ):
            raise GraphExportError(
                f"{node.id}: {node.op} calls Python, which DALI cannot serialise for Triton. "
                "Leave the node out."
            )


def _encoded_ports(reader: Node, catalog: Catalog) -> list[Port]:
    outputs = catalog[reader.op].outputs
    return [Port(reader.id, output.name) for output in outputs if output.kind == "encoded"]


def _definition(emitter: Emitter, catalog: Catalog) -> tuple[list[str], str, Mapping[str, range]]:
    """The pipeline function with an external source in the place of its reader."""
    function = function_name(emitter.graph)
    reader = first_reader(emitter.ordered)
    image = emitter.names[_encoded_ports(reader, catalog)[0]]
    arguments = [
        'device="cpu"',
        f'name="{input_name(emitter.ordered)}"',
        "dtype=types.UINT8",
        "ndim=1",
    ]
    head = [
        *signature(function, "device: str = DEVICE, base_seed: int = SEED"),
        *call(image, "fn.external_source", arguments),
    ]
    nodes = [node for node in emitter.ordered if node is not reader]
    body, lines = body_of(emitter, nodes, len(head))
    tail = return_statement([emitter.names[port] for port in emitter.graph.outputs.values()])
    return [*head, *body, *tail], function, lines


def _output(graph: Graph, outputs: Outputs, name: str) -> str:
    flow, node = outputs[name], graph.outputs[name].node
    if flow.dtype not in _DTYPES or flow.shape is None:
        raise GraphExportError(
            f"{node}: Triton must be told type and number of axes of {name!r}, and only the data "
            f"tell them. Give {node} a dtype, or leave {name!r} out of the outputs."
        )
    dims = ", ".join("-1" if extent is None else str(extent) for extent in flow.shape)
    return Template(_OUTPUT).substitute(name=name, dtype=_DTYPES[flow.dtype], dims=dims)


TARGET = Target(
    "a model repository for its DALI backend, and a client",
    emit_triton,
    side_by_side=True,
    training=emit_training,
    notes=inference_notes,
)
