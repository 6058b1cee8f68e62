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
from workbench.emit.python import INDENT
from workbench.emit.targets import Target
from workbench.emit.targets._shared import (
    BUILD_SEVERAL,
    replaced,
    sharded_module,
    with_cores,
)
from workbench.emit.template_parts import shard_seed
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
${loader_seed}            )
            for shard_id, place in zip(self.shards, self.devices, strict=True)
        ]
        # An iterator for each device: one for all of them would want a GPU for each.
        self.iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="$reader", auto_reset=True)
            for pipe in pipes
        ]
        self.samples = pipes[0].reader_meta("$reader")["epoch_size"]
        self.epoch, self.seen = 0, 0  # samples of each shard in this epoch

    def __len__(self) -> int:
        return len(self.iterators[0])

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        # With each epoch a reader goes on to the next shard.
        shards = (np.array(self.shards) + self.epoch) % self.num_shards
        ends = (shards + 1) * self.samples // self.num_shards
        sizes = ends - shards * self.samples // self.num_shards
        # Strict, so that each of them is asked for its end, where it begins anew.
        for parts in zip(*self.iterators, strict=True):
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
$squeeze            numbers = np.arange(self.seen, self.seen + self.batch_size)
            batch["valid"] = self.join([numbers < size for size in sizes])
            self.seen += self.batch_size
            yield batch
        self.epoch, self.seen = self.epoch + 1, 0

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
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
        self.devices, everywhere = jax.local_devices(), jax.devices()
        mesh = Mesh(everywhere, ("batch",))
        self.sharding = NamedSharding(mesh, PartitionSpec("batch"))
        numbers = [everywhere.index(place) for place in self.devices]
        self.shards = [PIPELINES * number for number in numbers]  # those of turn 0
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
            for number, place in zip(numbers, self.devices, strict=True)
        ]
        self.samples = pipes[0][0].reader_meta("$reader")["epoch_size"]
        self.epoch, self.given = 0, 0  # batches of this epoch
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

    def __len__(self) -> int:
        return sum(len(turn[0]) for turn in self.iterators)

    def __iter__(self) -> Iterator[dict[str, jax.Array]]:
        for number in range(self.given, len(self)):
            run, turn = divmod(number, PIPELINES)
            # With each epoch a reader goes on to the next shard.
            shards = (np.array(self.shards) + turn + self.epoch) % self.num_shards
            ends = (shards + 1) * self.samples // self.num_shards
            sizes = ends - shards * self.samples // self.num_shards
            parts = [next(batches) for batches in self.iterators[turn]]
            if number + PIPELINES >= len(self):
                for batches in self.iterators[turn]:
                    next(batches, None)  # its epoch is over: it begins the next
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
$squeeze            seen = run * self.batch_size + np.arange(self.batch_size)
            batch["valid"] = self.join([seen < size for size in sizes])
            self.given = number + 1
            yield batch
        self.epoch, self.given = self.epoch + 1, 0

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


def emit_jax(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``loader.py``."""
    module = sharded_module(graph, catalog, "jax")
    require_next_shard(module.nodes, "jax")
    squeeze = [f'{" " * 12}batch["{n}"] = batch["{n}"].squeeze(-1)\n' for n in module.labels]
    doc = "\n    Labels have the shape [N]." if module.labels else ""
    if any((flow.dtype or "").endswith("64") for flow in module.outputs.values()):
        doc += "\n    What has 64 bits is cut to 32, unless ``jax_enable_x64`` is set."
    template = _TEMPLATE if graph.settings.pipelines == 1 else _SEVERAL
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
