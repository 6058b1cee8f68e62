"""Export a graph as a TensorFlow ``DALIDataset``, for Keras or a custom loop."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import require_checkpointing
from workbench.emit.core.outputs import Outputs, require_next_shard
from workbench.emit.core.python import LINE
from workbench.emit.core.user_functions import require_no_own_code
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import sharded_module
from workbench.errors import GraphExportError
from workbench.graph.execution.dataset_parameters import is_sampled, source_kind
from workbench.graph.model import Graph, Source
from workbench.graph.resolved import ResolvedGraph

_DTYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FLOAT16": "float16",
    "FLOAT": "float32", "FLOAT64": "float64",
}  # fmt: skip


def emit_tensorflow(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``dataset.py``."""
    module = sharded_module(resolved, "tensorflow")
    require_no_own_code(
        module.nodes,
        "TensorFlow's DALIDataset runs a pipeline serialised by DALI, without Python",
    )
    require_next_shard(module.nodes, "tensorflow")
    require_checkpointing(module.nodes, "tensorflow")
    for node in module.nodes:
        if isinstance(node, Source) and source_kind(node).pipeline_arguments:
            raise GraphExportError(
                f"{node.id}: this node reads data with Python code, which TensorFlow's "
                "DALIDataset cannot run. Write the images to TFRecord files, or use another "
                "target."
            )
        if is_sampled(node):
            raise GraphExportError(
                f"{node.id}: its sampler runs in Python, which TensorFlow's DALIDataset cannot "
                "run. Reset the sampler, or use another target."
            )
    graph, outputs = resolved.graph, module.outputs
    source = module.render(
        "tensorflow.py.j2",
        dtypes=_tuple("DTYPES", [f"tf.{_dtype(graph, outputs, name)}" for name in outputs]),
        shapes=_tuple("SHAPES", [_shape(graph, outputs, name) for name in outputs]),
    )
    return {"dataset.py": source}


def _dtype(graph: Graph, outputs: Outputs, name: str) -> str:
    found = _DTYPES.get(outputs[name].dtype or "")
    if found is None:
        node = graph.outputs[name].node
        raise GraphExportError(
            f"{node}: DALIDataset requires the type of {name!r}, which depends on the data. Set "
            f"the dtype of {node!r}, or add a cast after it."
        )
    return found


def _shape(graph: Graph, outputs: Outputs, name: str) -> str:
    flow = outputs[name]
    shape = flow.shape
    if shape is None and flow.layout:
        shape = (None,) * len(flow.layout)
    if shape is None:
        raise GraphExportError(
            f"{graph.outputs[name].node}: DALIDataset requires the number of axes of {name!r}, "
            "which depends on the data. Remove this output."
        )
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _tuple(name: str, items: list[str]) -> str:
    line = f"{name} = ({', '.join(items)}{',' if len(items) == 1 else ''})"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name} = (", *(f"    {item}," for item in items), ")"])


TARGET = Target("a loader around DALIDataset, also for Keras", emit_tensorflow, runs_copy=True)
