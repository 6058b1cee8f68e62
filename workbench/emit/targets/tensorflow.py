"""TensorFlow: ``DALIDataset``, for Keras or a loop of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.outputs import Outputs, require_next_shard
from workbench.emit.own_code import require_no_own_code
from workbench.emit.python import LINE
from workbench.emit.targets import Target
from workbench.emit.targets._shared import BUILD, SHARD_SIZE, sharded_module
from workbench.errors import GraphExportError
from workbench.graph.model import Graph, Source
from workbench.sources import load_source

_TEMPLATE = f'''\
"""$title

Batches as a tf.data.Dataset.

Usage: python dataset.py« --data DIR» [--device cpu|mixed] [--batch-size N] [--epochs N]

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

import argparse
${{os}}import time
from collections.abc import Iterator
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

{SHARD_SIZE}

class Loader:
    """Batches of one shard as dictionaries of tensors: $listed.

    One pass is one epoch: every sample once, the last batch as short as it
    comes.$labels_doc

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=len(loader))``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
        shard_id: int = 0,
        num_shards: int = 1,
        device_id: int = 0,
    ) -> None:
        pipe = build_pipeline(
            «data, »batch_size, num_threads, device, seed, shard_id, num_shards, device_id
        )
        # DALIDataset makes a pipeline of its own out of this one, which is only asked things.
        self._samples = pipe.reader_meta("$reader")["epoch_size"]
        self._shard, self._num_shards = shard_id, num_shards
        self._batch_size, self._seen = batch_size, 0  # samples in this epoch
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{{device_id}}"
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self._stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def __len__(self) -> int:
        largest = ceil(self._samples / self._num_shards)
        return ceil(largest / self._batch_size)

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        if self._stream is None:  # another one would begin with the first epoch again
            self._stream = iter(self.dataset)
        last = shard_size(self._samples, self._shard, self._num_shards)
        while self._seen < len(self) * self._batch_size:
            tensors = next(self._stream)
            size = max(0, min(last - self._seen, self._batch_size))
            batch = {{name: t[:size] for name, t in zip(OUTPUTS, tensors, strict=True)}}
$squeeze            self._seen += self._batch_size
            yield batch
        self._shard = (self._shard + 1) % self._num_shards  # the reader does, too
        self._seen = 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    loader = Loader(«args.data, »args.batch_size, args.threads, args.device)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(len(batch[OUTPUTS[0]]) for batch in loader)
        seconds = time.perf_counter() - start
        print(f"epoch {{epoch}}: {{samples}} samples, {{samples / seconds:.0f}} imgs/s")


if __name__ == "__main__":
    main()
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
        labels_doc="\n    Labels have the shape [N]." if module.labels else "",
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
