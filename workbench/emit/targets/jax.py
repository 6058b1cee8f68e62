"""JAX: batches split over all devices, through DALI's JAX iterator.

Why the loader is not DALI's decorator ``data_iterator`` (2.4):

- with ``sharding`` it gives each pipeline a ``device_id``, so that it runs on no machine without a
  GPU, and outputs that lie on the CPU, such as labels, cannot be joined on the GPUs;
- without it, it feeds one device;
- it hides its pipelines, and so how many samples there are: what is padding cannot be told, and
  an evaluation counts the last sample of each shard several times;
- it makes one pipeline for each device, and never several side by side.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_next_shard
from workbench.emit.core.python import INDENT
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import (
    BATCH_SIZES,
    BUILD_SEVERAL,
    replaced,
    sharded_module,
    with_cores,
)
from workbench.emit.templates.template_parts import shard_seed
from workbench.graph.resolved import ResolvedGraph

_LOADER = f'''\
{BATCH_SIZES}class Loader:
    """Batches as dictionaries of arrays: $listed.

    Each device reads one shard, with ``batch_size`` and ``num_threads`` of its own. Every
    batch has the same shapes, as ``jit`` needs them: where a shard ends, its last sample is
    repeated, and the boolean array ``valid`` marks the samples that count: each one once in
    an epoch, and with a batch size above 1 at least one of each device in every batch.$labels_doc

    An epoch that is left early continues with the next ``iter``. One loader has one iterator
    at a time: the older one raises RuntimeError.
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        self.devices, everywhere = jax.local_devices(), jax.devices()
        mesh = Mesh(everywhere, ("batch",))
        self.sharding = NamedSharding(mesh, PartitionSpec("batch"))
        self.shards = [everywhere.index(place) for place in self.devices]
        self.num_shards = len(everywhere)
        self.batch_size = batch_size
        pipes = [
            $function(
«                data,»
                device,
                seed + 100_000 * shard_id,  # shards draw apart
                shard_id,
                self.num_shards,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=$place_id,
                prefetch_queue_depth=$prefetch,
${{loader_seed}}            )
            for shard_id, place in zip(self.shards, self.devices, strict=True)
        ]
        # An iterator for each device: one for all of them would want a GPU for each.
        self.iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="$reader", auto_reset=True)
            for pipe in pipes
        ]
        self.metas = [pipe.reader_meta("$reader") for pipe in pipes]
        self.epoch, self.given = 0, 0  # batches of this epoch
        self.newest: object = None

    def __len__(self) -> int:
        return len(self.iterators[0])

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        self.newest = current = object()
        sizes = [batch_sizes(meta, self.epoch, self.batch_size) for meta in self.metas]
        for number in range(self.given, len(self)):
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            parts = [next(batches) for batches in self.iterators]
            self.given = number + 1
            if self.given == len(self):  # a consumer may stop here
                for batches in self.iterators:
                    next(batches, None)  # its epoch is over: it begins the next
                self.epoch, self.given = self.epoch + 1, 0
            batch = {{name: self.join([p[name] for p in parts]) for name in OUTPUTS}}
$squeeze            # With batches of 1 sample a shard can have a batch less.
            valid = [each[number] if number < len(each) else 0 for each in sizes]
            batch["valid"] = self.join([np.arange(self.batch_size) < n for n in valid])
            yield batch

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
'''

_LOADER_SEVERAL = f'''\
{BATCH_SIZES}class Loader:
    """Batches as dictionaries of arrays: $listed.

    Each device has ``PIPELINES`` of them, which read one shard each, with ``batch_size`` and
    ``num_threads`` of their own: batch k is that of its pipeline k mod N, and meanwhile the
    others work on their next ones. Every batch has the same shapes, as ``jit`` needs them:
    where a shard ends, its last sample is repeated, and the boolean array ``valid`` marks the
    samples that count: each one once in an epoch, and at least one in every batch.$labels_doc

    An epoch that is left early continues with the next ``iter``. One loader has one iterator
    at a time: the older one raises RuntimeError.
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        self.devices, everywhere = jax.local_devices(), jax.devices()
        mesh = Mesh(everywhere, ("batch",))
        self.sharding = NamedSharding(mesh, PartitionSpec("batch"))
        self.numbers = [everywhere.index(place) for place in self.devices]
        self.num_shards = PIPELINES * len(everywhere)
        self.batch_size = batch_size
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
            for number, place in zip(self.numbers, self.devices, strict=True)
        ]
        # Those of all shards: device k has PIPELINES of them, one for each turn.
        meta, shards = pipes[0][0].reader_meta("$reader"), range(self.num_shards)
        self.metas = [{{**meta, "shard_id": shard}} for shard in shards]
        self.epoch, self.given = 0, 0  # batches of this epoch
        self.newest: object = None
        # An iterator for each pipeline: one for all of them would want a GPU for each.
        self.iterators = [
            [
                DALIGenericIterator(
                    [pipe], OUTPUTS, reader_name="$reader", auto_reset=True
                )
                for pipe in turn
            ]
            for turn in zip(*pipes, strict=True)
        ]

    def sizes(self) -> list[list[list[int]]]:
        """Return the number of samples in each batch of this epoch: turn -> device -> batch."""
        every = [batch_sizes(meta, self.epoch, self.batch_size) for meta in self.metas]
        return [every[turn::PIPELINES] for turn in range(PIPELINES)]

    def __len__(self) -> int:
        return sum(max(map(len, turn)) for turn in self.sizes())

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        self.newest = current = object()
        sizes = self.sizes()
        counts = [max(map(len, turn)) for turn in sizes]
        order = [
            (turn, run)
            for run in range(max(counts))
            for turn in range(PIPELINES)
            if run < counts[turn]
        ]
        for turn, run in order[self.given :]:
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            parts = [next(batches) for batches in self.iterators[turn]]
            if run + 1 == counts[turn]:
                for batches in self.iterators[turn]:
                    while next(batches, None):
                        pass  # its epoch is over: it begins the next
            self.given += 1
            if self.given == len(order):  # a consumer may stop here
                self.epoch, self.given = self.epoch + 1, 0
            batch = {{name: self.join([p[name] for p in parts]) for name in OUTPUTS}}
$squeeze            own = [sizes[turn][number] for number in self.numbers]
            # With batches of 1 sample a shard can have a batch less.
            valid = [each[run] if run < len(each) else 0 for each in own]
            batch["valid"] = self.join([np.arange(self.batch_size) < n for n in valid])
            yield batch

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        batch_size = self.batch_size * (self.num_shards // PIPELINES)
        placed = list(map(jax.device_put, parts, self.devices))
        shape = (batch_size, *parts[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
'''

_TEMPLATE = f'''\
"""$title

Batches as JAX arrays that are split over all devices, of this process and of the others:

    for batch in Loader(«"DIR", »batch_size=64):
        ...

Needs jax and nvidia-dali-cuda120.
"""

${{os}}from collections.abc import Iterator, Sequence
$any
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
${{not_translated}}from nvidia.dali.plugin.jax import DALIGenericIterator

$constants
$outputs


$finder$definition


{_LOADER}'''


_SEVERAL = replaced(
    with_cores(_TEMPLATE),
    (_LOADER, f"{BUILD_SEVERAL}\n\n{_LOADER_SEVERAL}"),
    ("${not_translated}", "from nvidia.dali.pipeline import Pipeline$not_converted\n"),
)


def emit_jax(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(resolved, "jax")
    require_next_shard(module.nodes, "jax")
    squeeze = [f'{" " * 12}batch["{n}"] = batch["{n}"].squeeze(-1)\n' for n in module.labels]
    doc = "\n    Labels have the shape [N]." if module.labels else ""
    if any((flow.dtype or "").endswith("64") for flow in module.outputs.values()):
        doc += "\n    What has 64 bits is cut to 32, unless ``jax_enable_x64`` is set."
    template = _TEMPLATE if resolved.graph.settings.pipelines == 1 else _SEVERAL
    untranslated = "from nvidia.dali.pipeline import do_not_convert\n"
    fields = {
        "squeeze": "".join(squeeze),
        "labels_doc": doc,
        "not_translated": untranslated if module.parts.not_converted else "",
        "place_id": "place.local_hardware_id" + module.parts.device_id.removeprefix("0"),
        "loader_seed": shard_seed(module.parts, "shard_id", INDENT * 4),
    }
    return {"loader.py": module.fill(template, **fields)}


TARGET = Target("a loader of arrays split over all devices", emit_jax, side_by_side=True)
