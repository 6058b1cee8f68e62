"""Ray: actors that each run the pipeline on one shard and write what it gives."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.core.outputs import require_next_shard, require_no_regions
from workbench.emit.core.python import constant
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import (
    BUILD,
    BUILD_SEVERAL,
    quoted_list,
    replaced,
    sharded_module,
    with_cores,
)
from workbench.graph.resolved import ResolvedGraph

_SAMPLES = """\
        shards, batch_size = self.args.actors, self.args.batch_size
        total = self.pipe.reader_meta("$reader")["epoch_size"]
        # With each epoch the reader goes on to the next shard.
        size = shard_size(total, (self.shard_id + epoch) % shards, shards)
        longest = ceil(total / shards)
        for start in range(0, longest, batch_size):  # the reader pads the shorter ones
            outputs = [output.as_cpu() for output in self.pipe.run()]
            for index in range(min(size - start, batch_size)):
                arrays = (np.array(output[index]) for output in outputs)
                key = f"{self.shard_id:05}-{epoch:03}-{start + index:07}"
                yield key, dict(zip(OUTPUTS, arrays, strict=True))
"""

_SAMPLES_IN_TURNS = """\
        shards, batch_size = PIPELINES * self.args.actors, self.args.batch_size
        total = self.pipes[0].reader_meta("$reader")["epoch_size"]
        mine = range(PIPELINES * self.shard_id, PIPELINES * (self.shard_id + 1))
        # With each epoch a reader goes on to the next shard.
        sizes = [shard_size(total, (shard + epoch) % shards, shards) for shard in mine]
        longest = ceil(total / shards)
        for start in range(0, longest, batch_size):  # the reader pads the shorter ones
            for shard, pipe, size in zip(mine, self.pipes, sizes, strict=True):
                outputs = [output.as_cpu() for output in pipe.run()]
                for index in range(min(size - start, batch_size)):
                    arrays = (np.array(output[index]) for output in outputs)
                    key = f"{shard:05}-{epoch:03}-{start + index:07}"
                    yield key, dict(zip(OUTPUTS, arrays, strict=True))
"""

_SHARD = f'''\
class Shard:
    """Runs the pipeline on one shard."""

    def __init__(self, args: argparse.Namespace, shard_id: int) -> None:
        self.args = args
        self.shard_id = shard_id
        self.pipe = build_pipeline(
«            args.data,»
            args.batch_size,
            args.threads,
            args.device,
            args.seed,
            shard_id,
            args.actors,
        )

    def write(self) -> int:
        """Write a file for each epoch; return the number of samples."""
        folder, count = Path(self.args.out), 0
        folder.mkdir(parents=True, exist_ok=True)
        for epoch in range(self.args.epochs):
            name = f"shard-{{self.shard_id:05}}-epoch-{{epoch:03}}"
            unfinished = folder / f"{{name}}.part"
            count += WRITERS[self.args.format](unfinished, self.samples(epoch))
            unfinished.rename(folder / f"{{name}}.{{self.args.format}}")  # it is whole now
        return count

    def samples(self, epoch: int) -> Iterator[tuple[str, Sample]]:
        """Every sample of the shard once, with a key that no other has."""
{_SAMPLES}'''

_SHARD_SEVERAL = replaced(
    _SHARD,
    ("the pipeline on one shard.", "the pipelines on one shard, in turns."),
    ("self.pipe = build_pipeline(", "self.pipes = build_pipelines("),
    (_SAMPLES, _SAMPLES_IN_TURNS),
)

_TEMPLATE = f'''\
"""$title

The pipeline on many machines: Ray actors read one shard each and write augmented shards,
as WebDataset tar files or as Parquet. Every machine must see what they read and write.

Usage: python augment.py« --data DIR» --out DIR [--actors N] [--epochs N] [--format tar]

Needs ray, numpy and nvidia-dali-cuda120; pyarrow for Parquet.
"""

import argparse
import io
${{with_os}}import tarfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from math import ceil
from pathlib import Path
$any
import numpy as np
import ray
from numpy.typing import NDArray
from nvidia.dali import fn$math, pipeline_def$imports
${{policies}}from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline$not_converted

$constants
$outputs
$labels

Sample = dict[str, NDArray[np.generic]]


$finder$definition


{BUILD}

def shard_size(samples: int, shard_id: int, num_shards: int) -> int:
    """Samples of one shard, as DALI's readers divide them."""
    begin = shard_id * samples // num_shards
    return (shard_id + 1) * samples // num_shards - begin


def write_tar(path: Path, samples: Iterator[tuple[str, Sample]]) -> int:
    """WebDataset's form: files of one key, arrays as npy, labels as cls."""
    count = 0
    with tarfile.open(path, "w") as tar:
        for key, sample in samples:
            for name, array in sample.items():
                if name in LABELS:
                    file, data = f"{{key}}.{{name}}.cls", str(array.item()).encode()
                else:
                    file, data = f"{{key}}.{{name}}.npy", npy_bytes(array)
                entry = tarfile.TarInfo(file)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            count += 1
    return count


def write_parquet(path: Path, samples: Iterator[tuple[str, Sample]]) -> int:
    """A row for each sample: ``key``, arrays as npy in bytes, labels as integers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {{name: pa.int64() if name in LABELS else pa.binary() for name in OUTPUTS}}
    schema = pa.schema([("key", pa.string()), *kinds.items()])
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(samples, 256)):
            rows = [{{"key": key, **as_cells(sample)}} for key, sample in group]
            writer.write_table(pa.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


def as_cells(sample: Sample) -> dict[str, int | bytes]:
    return {{
        name: int(array.item()) if name in LABELS else npy_bytes(array)
        for name, array in sample.items()
    }}


def npy_bytes(array: NDArray[np.generic]) -> bytes:
    """The array as a file of NumPy's own format: shape and type come along."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


WRITERS = {{"tar": write_tar, "parquet": write_parquet}}


{_SHARD}

def main() -> None:
    parser = argparse.ArgumentParser(description="Write augmented shards with Ray.")
«    parser.add_argument("--data", required=True, help="folder of images")»
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--format", choices=list(WRITERS), default="tar")
    parser.add_argument("--actors", type=int, default=2, help="as many as shards")
    parser.add_argument("--epochs", type=int, default=1, help="each is drawn anew")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per actor")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--address", help="of a running cluster; else Ray starts here")
    args = parser.parse_args()
    if args.format == "parquet" and find_spec("pyarrow") is None:
        parser.error("Parquet needs pyarrow, which is not installed")
«    args.data = os.path.abspath(args.data)»
    args.out = os.path.abspath(args.out)
    if any(Path(args.out).glob("shard-*")):  # its samples would count twice
        parser.error(f"{{args.out}} has shards of another run: name a new folder")

    ray.init(address=args.address)
    each = {{"CPU": args.threads, "GPU": $gpus}}
    have = ray.cluster_resources()
    for kind, number in each.items():
        if number * args.actors > have.get(kind, 0):  # Ray would wait for more for ever
            raise SystemExit(
                f"{{args.actors}} actors with {{number}} {{kind}} each need more than the "
                f"{{have.get(kind, 0):.0f}} here. Give fewer --actors or --threads."
            )
    actor = ray.remote(Shard).options(num_cpus=each["CPU"], num_gpus=each["GPU"])
    shards = [actor.remote(args, shard_id) for shard_id in range(args.actors)]
    counts = ray.get([shard.write.remote() for shard in shards])
    print(f"{{sum(counts)}} samples in {{args.out}}, by shard: {{counts}}")


if __name__ == "__main__":
    main()
'''


_SEVERAL = replaced(
    with_cores(_TEMPLATE),
    (BUILD, BUILD_SEVERAL),
    (_SHARD, _SHARD_SEVERAL),
    ('NUM_THREADS, help="per actor"', 'NUM_THREADS, help="of each"'),
    ('"CPU": args.threads,', '"CPU": PIPELINES * args.threads,'),
)


def emit_ray(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``augment.py``."""
    module = sharded_module(resolved, "ray")
    # DALI makes conditions from a function's source, which Ray's actors do not have: the function
    # is sent to them without its module.
    require_no_regions(module.nodes, "an actor of Ray, which gets the pipeline without its source,")
    require_next_shard(module.nodes, "ray")
    on_cpu = module.parts.device_id.endswith("None")
    source = module.fill(
        _TEMPLATE if resolved.graph.settings.pipelines == 1 else _SEVERAL,
        labels="\n".join(constant("LABELS", quoted_list(module.labels))),
        gpus='1 if args.device == "mixed" else 0' if on_cpu else "1",
    )
    return {"augment.py": source}


TARGET = Target(
    "actors that write augmented shards, as WebDataset tar or Parquet", emit_ray, side_by_side=True
)
