"""TensorFlow: ``DALIDataset``, for Keras or a loop of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import require_checkpointing
from workbench.emit.core.outputs import Outputs, require_next_shard
from workbench.emit.core.own_code import require_no_own_code
from workbench.emit.core.python import LINE
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import BATCH_SIZES, BUILD, sharded_module
from workbench.errors import GraphExportError
from workbench.graph.model import Graph, Source
from workbench.graph.resolved import ResolvedGraph
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

{BATCH_SIZES}class Loader:
    """Batches as dictionaries of tensors: $listed.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. An epoch that is left early continues with the next ``iter``. One loader
    has one iterator at a time: the older one raises RuntimeError.$labels_doc

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=loader.longest)``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(self, pipe: Pipeline) -> None:
        self.meta, self.batch_size = pipe.reader_meta("$reader"), pipe.max_batch_size
        self.epoch, self.given = 0, 0  # batches of this epoch
        longest_shard = ceil(self.meta["epoch_size"] / self.meta["number_of_shards"])
        # The batches of an epoch of ``dataset``, which includes the padding.
        self.longest = ceil(longest_shard / self.batch_size)
        self.newest: object = None
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

    def sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        return batch_sizes(self.meta, self.epoch, self.batch_size)

    def __len__(self) -> int:
        return len(self.sizes())

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        self.newest = current = object()
        if self.stream is None:  # another one would begin with the first epoch again
            self.stream = iter(self.dataset)
        sizes = self.sizes()
        for number in range(self.given, len(sizes)):
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            tensors = next(self.stream)
            self.given = number + 1
            if self.given == len(sizes):  # a consumer may stop here
                for _ in range(len(sizes), self.longest):
                    next(self.stream)  # padding
                self.epoch, self.given = self.epoch + 1, 0
            left = sizes[number]  # the rest is padding
            batch = {{name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}}
$squeeze            yield batch
'''

_DTYPES = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "FLOAT16": "float16",
    "FLOAT": "float32", "FLOAT64": "float64",
}  # fmt: skip
"""TensorFlow's names of DALI's types."""


def emit_tensorflow(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``dataset.py``."""
    module = sharded_module(resolved, "tensorflow")
    require_no_own_code(
        module.nodes,
        "TensorFlow's DALIDataset is given a pipeline that DALI serialises, without Python",
    )
    require_next_shard(module.nodes, "tensorflow")
    require_checkpointing(module.nodes, "tensorflow")
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
        dtypes=_tuple(
            "DTYPES", [f"tf.{_dtype(resolved.graph, module.outputs, n)}" for n in module.outputs]
        ),
        shapes=_tuple(
            "SHAPES", [_shape(resolved.graph, module.outputs, n) for n in module.outputs]
        ),
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
