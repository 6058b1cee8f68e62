"""JAX: batches split over all devices, through DALI's JAX iterator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.outputs import first_reader, require_next_shard
from workbench.emit.python import INDENT, call, signature
from workbench.emit.targets import Target
from workbench.emit.targets._shared import (
    BUILD_SEVERAL,
    SHARD_SIZE,
    Module,
    sharded_module,
)
from workbench.emit.template_parts import needs_conditionals
from workbench.graph.model import Graph
from workbench.graph.pipelines import SHARD_SEED

_LOADER_SEVERAL = '''\
class Loader:
    """Batches as dictionaries of arrays: $listed.

    Each device has ``PIPELINES`` of them, which read one shard each: batch k is that of its
    pipeline k mod N, and meanwhile the others work on their next ones. Every batch has the
    same shapes, as ``jit`` likes them: where a shard ends, its last sample is repeated.
    The boolean array ``valid`` says which samples count; in one epoch every one does
    once.$labels_doc$sizes_doc
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        everywhere = jax.devices()
        self._devices = jax.local_devices()
        self._sharding = NamedSharding(
            Mesh(np.array(everywhere), ("batch",)), PartitionSpec("batch")
        )
        numbers = [everywhere.index(place) for place in self._devices]
        self._shards = [PIPELINES * number for number in numbers]  # those of turn 0
        self._num_shards = PIPELINES * len(everywhere)
        self._batch_size = batch_size
        pipes = [  # those of each device
            build_pipelines(
«                data,»
                batch_size,
                num_threads,
                device,
                seed,
                number,
                len(everywhere),
                place.local_hardware_id or 0,
            )
            for number, place in zip(numbers, self._devices, strict=True)
        ]
        self._samples = pipes[0][0].reader_meta("$reader")["epoch_size"]
        self._epoch, self._given = 0, 0  # batches of this epoch
        # An iterator for each pipeline: one for all of them would want a GPU for each.
        self._iterators = [
            [
                DALIGenericIterator(
                    [pipe], OUTPUTS, reader_name="$reader", auto_reset=True
                )
                for pipe in turn
            ]
            for turn in zip(*pipes, strict=True)
        ]

    def __len__(self) -> int:
        return sum(len(turn[0]) for turn in self._iterators)

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        for number in range(self._given, len(self)):
            run, turn = divmod(number, PIPELINES)
            # With each epoch a reader goes on to the next shard.
            now = [shard + turn + self._epoch for shard in self._shards]
            count = self._num_shards
            sizes = [shard_size(self._samples, shard % count, count) for shard in now]
            parts = [next(batches) for batches in self._iterators[turn]]
            if number + PIPELINES >= len(self):
                for batches in self._iterators[turn]:
                    next(batches, None)  # its epoch is over: it begins the next
            batch = {n: self._join([part[n] for part in parts]) for n in OUTPUTS}
$squeeze            seen = run * self._batch_size + np.arange(self._batch_size)
            batch["valid"] = self._join([seen < size for size in sizes])
            self._given = number + 1
            yield batch
        self._epoch, self._given = self._epoch + 1, 0

    def _join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        batch_size = self._batch_size * (self._num_shards // PIPELINES)
        placed = [
            jax.device_put(part, place)
            for part, place in zip(parts, self._devices, strict=True)
        ]
        shape = (batch_size, *parts[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self._sharding, placed)
'''

_SEVERAL = f'''\
"""$title

Batches as JAX arrays that are split over all devices, of this process and of the others.

Usage: python loader.py« --data DIR» [--device cpu|mixed] [--batch-size N] [--epochs N]

Needs jax and nvidia-dali-cuda120.
"""

import argparse
${{os}}import time
from collections.abc import Iterator, Sequence
$any
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.jax import DALIGenericIterator

$constants
$outputs


$finder$definition


{BUILD_SEVERAL}

{SHARD_SIZE}

{_LOADER_SEVERAL}

def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per device")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="of each")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    loader = Loader(«args.data, »args.batch_size, args.threads, args.device)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(int(batch["valid"].sum()) for batch in loader)
        seconds = time.perf_counter() - start
        print(f"epoch {{epoch}}: {{samples}} samples, {{samples / seconds:.0f}} imgs/s")


if __name__ == "__main__":
    main()
'''


_TEMPLATE = '''\
"""$title

Batches as JAX arrays, through DALI's own data iterator:

    for batch in make_iterator($example):
        images = batch["$image"]

Needs jax and nvidia-dali-cuda120.
"""

${os}$any${jax_imports}from nvidia.dali import fn$math$imports
${policies}from nvidia.dali.data_node import DataNode$not_converted_import
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator

$constants
$outputs
$sharding

$finder$definition


def make_iterator(
«    data: str,»
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    seed: int = SEED,
$shard_parameters) -> DALIGenericIterator:
    """Batches as dictionaries of arrays: $listed.

    ${batch_doc}Where an epoch ends, the last sample is
    repeated: every batch has the same shapes, as ``jit`` likes them.$labels_doc$sizes_doc
    """
    return $iterator(
«        data,»
        DEVICE,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        prefetch_queue_depth=$prefetch,
$more    )
'''


_SHARDING = """
SHARDING = NamedSharding(Mesh(jax.devices(), ("batch",)), PartitionSpec("batch"))
"""
_SHARDED_IMPORTS = """\
import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
"""


def emit_jax(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(graph, catalog, "jax")
    require_next_shard(module.nodes, "jax")
    doc = ""
    if any((flow.dtype or "").endswith("64") for flow in module.outputs.values()):
        doc = "\n    What has 64 bits is cut to 32, unless ``jax_enable_x64`` is set."
    if graph.settings.pipelines > 1:
        squeeze = [f'{" " * 12}batch["{n}"] = batch["{n}"].squeeze(-1)\n' for n in module.labels]
        doc = "\n    Labels have the shape [N]." * bool(module.labels) + doc
        return {"loader.py": module.fill(_SEVERAL, squeeze="".join(squeeze), labels_doc=doc)}
    return {"loader.py": _data_iterator(module, doc)}


def _data_iterator(module: Module, doc: str) -> Code:
    """The graph decorated with ``data_iterator``; on GPUs it splits batches over all of them."""
    parts, nodes = module.parts, module.nodes
    on_gpu = parts.device_id == "0" or module.graph.settings.device == "mixed"
    iterator = f"{parts.function.removesuffix('_pipeline')}_iterator"
    arguments = [
        "output_map=OUTPUTS",
        f'reader_name="{first_reader(nodes).id}"',
        "auto_reset=True",
        *["sharding=SHARDING"] * on_gpu,
    ]
    given = [*(f"{name}: str" for name in parts.parameters), "device: str", "base_seed: int"]
    shard = ["shard_id: int", "num_shards: int"]
    lines = parts.definition.split("\n")
    body = next(at for at, line in enumerate(lines) if line.endswith(":") and "->" in line) + 2
    definition = [
        *call("", "@data_iterator", arguments, ""),
        *signature(iterator, ", ".join([*given, *shard])),
        lines[body - 1],
        f"{INDENT}base_seed += {SHARD_SEED:_} * shard_id  # shards draw apart",
    ]
    moved = len(definition) - body
    parts = replace(
        parts,
        definition="\n".join([*definition, *lines[body:]]),
        lines={n: range(at.start + moved, at.stop + moved) for n, at in parts.lines.items()},
    )
    of_process = "" if on_gpu else f"{INDENT}shard_id: int = 0,\n{INDENT}num_shards: int = 1,\n"
    more = "" if on_gpu else _OF_A_PROCESS
    if needs_conditionals(nodes):
        more += f"{INDENT * 2}enable_conditionals=True,\n"
    example = ", ".join('"DIR"' for _ in parts.parameters)
    batch_doc = "``batch_size`` is that of all devices, which split it." if on_gpu else ""
    return replace(module, parts=parts).fill(
        _TEMPLATE,
        jax_imports="\n" * bool(parts.os or parts.any) + _SHARDED_IMPORTS * on_gpu,
        not_converted_import="\nfrom nvidia.dali.pipeline import do_not_convert"
        * bool(parts.not_converted),
        sharding=_SHARDING * on_gpu,
        shard_parameters=of_process,
        batch_doc=f"{batch_doc} ".lstrip(),
        iterator=iterator,
        example=example,
        image=next(iter(module.outputs)),
        labels_doc="\n    Labels have the shape [N, 1]." * bool(module.labels) + doc,
        more=more + parts.pipeline_seed,
    )


_OF_A_PROCESS = f"""\
{INDENT * 2}shard_id=shard_id,
{INDENT * 2}num_shards=num_shards,
{INDENT * 2}device_id=None,
"""

TARGET = Target("DALI's data iterator: arrays split over all GPUs", emit_jax, side_by_side=True)
