"""TensorFlow: ``DALIDataset``, for Keras or a loop of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.outputs import Outputs, require_next_shard
from workbench.emit.own_code import require_no_own_code
from workbench.emit.python import LINE
from workbench.emit.targets import Target
from workbench.emit.targets._shared import BUILD, sharded_module
from workbench.errors import GraphExportError
from workbench.graph.model import Graph, Source
from workbench.sources import load_source

_TEMPLATE = f'''\
"""$title

Batches as TensorFlow tensors, for Keras or a loop of your own:

    for batch in Loader(build_pipeline(«"DIR", »shard_id=rank, num_shards=world_size)):
        ...

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

${{os}}from collections.abc import Iterator
from math import ceil
$any
import tensorflow as tf
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.tf import DALIDataset

$constants
$outputs
$dtypes
$shapes


$finder$definition


{BUILD}

class Loader:
    """Batches as dictionaries of tensors: $listed.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes.$labels_doc

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=len(loader))``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(self, pipe: Pipeline) -> None:
        meta = pipe.reader_meta("$reader")
        self.samples, self.num_shards = meta["epoch_size"], meta["number_of_shards"]
        self.shard_id, self.batch_size = meta["shard_id"], pipe.max_batch_size
        self.seen = 0  # samples of this epoch
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{{pipe.device_id}}"
        # DALIDataset makes a pipeline of its own out of this one, which is only asked things.
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=self.batch_size,
                num_threads=pipe.num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((self.batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self.stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def __len__(self) -> int:
        return ceil(ceil(self.samples / self.num_shards) / self.batch_size)

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        if self.stream is None:  # another one would begin with the first epoch again
            self.stream = iter(self.dataset)
        begin = self.shard_id * self.samples // self.num_shards
        end = (self.shard_id + 1) * self.samples // self.num_shards
        while self.seen < len(self) * self.batch_size:
            tensors = next(self.stream)
            left = max(0, end - begin - self.seen)  # the rest is padding
            batch = {{name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}}
$squeeze            self.seen += self.batch_size
            yield batch
        self.shard_id = (self.shard_id + 1) % self.num_shards  # the reader does, too
        self.seen = 0
'''

_DTYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FLOAT16": "float16",
    "FLOAT": "float32", "FLOAT64": "float64",
}  # fmt: skip
"""TensorFlow's names of DALI's types."""


def emit_tensorflow(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``dataset.py``."""
    module = sharded_module(graph, catalog, "tensorflow")
    require_no_own_code(
        module.nodes,
        "TensorFlow's DALIDataset is given a pipeline that DALI serialises, without Python",
    )
    require_next_shard(module.nodes, "tensorflow")
    for node in module.nodes:
        if isinstance(node, Source) and load_source(node.kind).pipeline_arguments:
            raise GraphExportError(
                f"{node.id}: it reads with Python, and TensorFlow's DALIDataset is given a "
                "pipeline that DALI serialises, without Python. Write the images into TFRecord "
                "files, or export to another target."
            )
    squeeze = [
        f'{" " * 12}batch["{name}"] = tf.squeeze(batch["{name}"], -1)\n' for name in module.labels
    ]
    source = module.fill(
        _TEMPLATE,
        squeeze="".join(squeeze),
        labels_doc=" Labels have the shape [N]." if module.labels else "",
        dtypes=_tuple("DTYPES", [f"tf.{_dtype(graph, module.outputs, n)}" for n in module.outputs]),
        shapes=_tuple("SHAPES", [_shape(graph, module.outputs, n) for n in module.outputs]),
    )
    return {"dataset.py": source}


def _dtype(graph: Graph, outputs: Outputs, name: str) -> str:
    found = _DTYPES.get(outputs[name].dtype or "")
    if found is None:
        node = graph.outputs[name].node
        raise GraphExportError(
            f"{node}: DALIDataset must be told the type of {name!r}, and only the data tell it. "
            f"Give {node} a dtype, or put a cast after it."
        )
    return found


def _shape(graph: Graph, outputs: Outputs, name: str) -> str:
    flow = outputs[name]
    shape = flow.shape
    if shape is None and flow.layout:
        shape = (None,) * len(flow.layout)
    if shape is None:
        raise GraphExportError(
            f"{graph.outputs[name].node}: DALIDataset must be told the number of axes of {name!r}, "
            "and only the data tell it. Leave it out of the outputs."
        )
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def _tuple(name: str, items: list[str]) -> str:
    line = f"{name} = ({', '.join(items)}{',' if len(items) == 1 else ''})"
    if len(line) <= LINE:
        return line
    return "\n".join([f"{name} = (", *(f"    {item}," for item in items), ")"])


TARGET = Target("a loader around DALIDataset, which Keras takes too", emit_tensorflow)
