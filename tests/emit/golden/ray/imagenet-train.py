"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

The pipeline on many machines: Ray actors read one shard each and write augmented shards,
as WebDataset tar files or as Parquet. Every machine must have access to the files that they read and write.

Usage: python augment.py --data DIR --out DIR [--actors N] [--epochs N] [--format tar]

Needs ray, numpy and nvidia-dali-cuda120; pyarrow for Parquet.
"""

import argparse
import io
import os
import tarfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from math import ceil
from pathlib import Path

import numpy as np
import ray
from numpy.typing import NDArray
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]
LABELS = ["labels"]

Sample = dict[str, NDArray[np.generic]]


@pipeline_def
def imagenet_train_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, labels = fn.readers.file(
        file_root=data,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    images = fn.random_resized_crop(images, size=SIZE, seed=seed + 1)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
    device_id: int = 0,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` is where images are decoded, cpu or mixed; ``device_id`` is the GPU.
    """
    pipe = imagenet_train_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # different random values on each rank
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
    )
    pipe.build()
    return pipe


def shard_size(samples: int, shard_id: int, num_shards: int) -> int:
    """Samples of one shard, as DALI's readers divide them."""
    begin = shard_id * samples // num_shards
    return (shard_id + 1) * samples // num_shards - begin


def write_tar(path: Path, samples: Iterator[tuple[str, Sample]]) -> int:
    """WebDataset format: files with a common key, arrays as npy, labels as cls."""
    count = 0
    with tarfile.open(path, "w") as tar:
        for key, sample in samples:
            for name, array in sample.items():
                if name in LABELS:
                    file, data = f"{key}.{name}.cls", str(array.item()).encode()
                else:
                    file, data = f"{key}.{name}.npy", npy_bytes(array)
                entry = tarfile.TarInfo(file)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            count += 1
    return count


def write_parquet(path: Path, samples: Iterator[tuple[str, Sample]]) -> int:
    """A row for each sample: ``key``, arrays as npy bytes, labels as integers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: pa.int64() if name in LABELS else pa.binary() for name in OUTPUTS}
    schema = pa.schema([("key", pa.string()), *kinds.items()])
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(samples, 256)):
            rows = [{"key": key, **as_cells(sample)} for key, sample in group]
            writer.write_table(pa.Table.from_pylist(rows, schema))
            count += len(rows)
    return count


def as_cells(sample: Sample) -> dict[str, int | bytes]:
    return {
        name: int(array.item()) if name in LABELS else npy_bytes(array)
        for name, array in sample.items()
    }


def npy_bytes(array: NDArray[np.generic]) -> bytes:
    """The array in NumPy's file format, which includes shape and type."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


WRITERS = {"tar": write_tar, "parquet": write_parquet}


class Shard:
    """Runs the pipeline on one shard."""

    def __init__(self, args: argparse.Namespace, shard_id: int) -> None:
        self.args = args
        self.shard_id = shard_id
        self.pipe = build_pipeline(
            args.data,
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
            name = f"shard-{self.shard_id:05}-epoch-{epoch:03}"
            unfinished = folder / f"{name}.part"
            count += WRITERS[self.args.format](unfinished, self.samples(epoch))
            unfinished.rename(folder / f"{name}.{self.args.format}")  # now complete
        return count

    def samples(self, epoch: int) -> Iterator[tuple[str, Sample]]:
        """Every sample of the shard once, with a unique key."""
        shards, batch_size = self.args.actors, self.args.batch_size
        total = self.pipe.reader_meta("reader")["epoch_size"]
        # In each epoch the reader moves to the next shard.
        size = shard_size(total, (self.shard_id + epoch) % shards, shards)
        longest = ceil(total / shards)
        for start in range(0, longest, batch_size):  # the reader pads the shorter ones
            outputs = [output.as_cpu() for output in self.pipe.run()]
            for index in range(min(size - start, batch_size)):
                arrays = (np.array(output[index]) for output in outputs)
                key = f"{self.shard_id:05}-{epoch:03}-{start + index:07}"
                yield key, dict(zip(OUTPUTS, arrays, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Write augmented shards with Ray.")
    parser.add_argument("--data", required=True, help="folder of images by class")
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--format", choices=list(WRITERS), default="tar")
    parser.add_argument("--actors", type=int, default=2, help="as many as shards")
    parser.add_argument("--epochs", type=int, default=1, help="with new values")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per actor")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--address", help="of a running cluster; else Ray starts here")
    args = parser.parse_args()
    if args.format == "parquet" and find_spec("pyarrow") is None:
        parser.error("Parquet needs pyarrow, which is not installed")
    args.data = os.path.abspath(args.data)
    args.out = os.path.abspath(args.out)
    if any(Path(args.out).glob("shard-*")):  # its samples would count twice
        parser.error(f"{args.out} has shards of another run: name a new folder")

    ray.init(address=args.address)
    each = {"CPU": args.threads, "GPU": 1 if args.device == "mixed" else 0}
    have = ray.cluster_resources()
    for kind, number in each.items():
        if number * args.actors > have.get(kind, 0):  # Ray would wait endlessly
            raise SystemExit(
                f"{args.actors} actors with {number} {kind} each need more than the "
                f"{have.get(kind, 0):.0f} here. Give fewer --actors or --threads."
            )
    actor = ray.remote(Shard).options(num_cpus=each["CPU"], num_gpus=each["GPU"])
    shards = [actor.remote(args, shard_id) for shard_id in range(args.actors)]
    counts = ray.get([shard.write.remote() for shard in shards])
    print(f"{sum(counts)} samples in {args.out}, by shard: {counts}")


if __name__ == "__main__":
    main()
