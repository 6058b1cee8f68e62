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

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.outputs import require_next_shard
from workbench.emit.targets import Target
from workbench.emit.targets._shared import (
    BUILD,
    BUILD_SEVERAL,
    SHARD_SIZE,
    replaced,
    sharded_module,
    with_cores,
)
from workbench.graph.model import Graph

_LOADER = '''\
class Loader:
    """Batches as dictionaries of arrays: $listed.

    Each device reads one shard, with ``batch_size`` and ``num_threads`` of its own. Every
    batch has the same shapes, as ``jit`` likes them: where a shard ends, its last sample is
    repeated, and the boolean array ``valid`` says which samples count; in one epoch every
    sample does once.$labels_doc
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        self._devices = jax.local_devices()
        self._sharding = NamedSharding(
            Mesh(jax.devices(), ("batch",)), PartitionSpec("batch")
        )
        self._shards = [jax.devices().index(place) for place in self._devices]
        self._num_shards = jax.device_count()
        self._batch_size = batch_size
        pipes = [
            build_pipeline(
«                data,»
                batch_size,
                num_threads,
                device,
                seed,
                shard,
                self._num_shards,
                place.local_hardware_id or 0,
            )
            for shard, place in zip(self._shards, self._devices, strict=True)
        ]
        self._samples = pipes[0].reader_meta("$reader")["epoch_size"]
        self._epoch, self._seen = 0, 0  # samples of each shard in this epoch
        # An iterator for each device: one for all of them would want a GPU for each.
        self._iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="$reader", auto_reset=True)
            for pipe in pipes
        ]

    def __len__(self) -> int:
        return len(self._iterators[0])

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        # With each epoch a reader goes on to the next shard.
        now = [(shard + self._epoch) % self._num_shards for shard in self._shards]
        sizes = [shard_size(self._samples, shard, self._num_shards) for shard in now]
        for parts in zip(*self._iterators, strict=True):
            batch = {n: self._join([part[n] for part in parts]) for n in OUTPUTS}
$squeeze            numbers = np.arange(self._seen, self._seen + self._batch_size)
            batch["valid"] = self._join([numbers < size for size in sizes])
            self._seen += self._batch_size
            yield batch
        self._epoch, self._seen = self._epoch + 1, 0

    def _join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self._num_shards * self._batch_size, *parts[0].shape[1:])
        placed = [
            jax.device_put(part, place)
            for part, place in zip(parts, self._devices, strict=True)
        ]
        return jax.make_array_from_single_device_arrays(shape, self._sharding, placed)
'''

_LOADER_SEVERAL = '''\
class Loader:
    """Batches as dictionaries of arrays: $listed.

    Each device has ``PIPELINES`` of them, which read one shard each, with ``batch_size`` and
    ``num_threads`` of their own: batch k is that of its pipeline k mod N, and meanwhile the
    others work on their next ones. Every batch has the same shapes, as ``jit`` likes them:
    where a shard ends, its last sample is repeated, and the boolean array ``valid`` says
    which samples count; in one epoch every one does once.$labels_doc
    """

    def __init__(
        self,
«        data: str,»
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
    ) -> None:
        self._devices = jax.local_devices()
        self._sharding = NamedSharding(
            Mesh(jax.devices(), ("batch",)), PartitionSpec("batch")
        )
        numbers = [jax.devices().index(place) for place in self._devices]
        self._shards = [PIPELINES * number for number in numbers]  # those of turn 0
        self._num_shards = PIPELINES * jax.device_count()
        self._batch_size = batch_size
        pipes = [  # those of each device
            build_pipelines(
«                data,»
                batch_size,
                num_threads,
                device,
                seed,
                number,
                jax.device_count(),
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
from nvidia.dali.pipeline import Pipeline$not_converted
from nvidia.dali.plugin.jax import DALIGenericIterator

$constants
$outputs


$finder$definition


{BUILD}

{SHARD_SIZE}

{_LOADER}'''


_SEVERAL = replaced(with_cores(_TEMPLATE), (BUILD, BUILD_SEVERAL), (_LOADER, _LOADER_SEVERAL))


def emit_jax(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(graph, catalog, "jax")
    require_next_shard(module.nodes, "jax")
    squeeze = [f'{" " * 12}batch["{n}"] = batch["{n}"].squeeze(-1)\n' for n in module.labels]
    doc = "\n    Labels have the shape [N]." if module.labels else ""
    if any((flow.dtype or "").endswith("64") for flow in module.outputs.values()):
        doc += "\n    What has 64 bits is cut to 32, unless ``jax_enable_x64`` is set."
    template = _TEMPLATE if graph.settings.pipelines == 1 else _SEVERAL
    return {"loader.py": module.fill(template, squeeze="".join(squeeze), labels_doc=doc)}


TARGET = Target("a loader of arrays split over all devices", emit_jax, side_by_side=True)
