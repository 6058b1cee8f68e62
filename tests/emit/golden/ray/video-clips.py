"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

The pipeline on many machines: Ray actors read one shard each and write augmented shards,
as WebDataset tar files or as Parquet. Every machine must see what they read and write.

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
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [0.45 * 255]
STD = [0.225 * 255]
OUTPUTS = ["clips", "labels"]
LABELS = ["labels"]

Sample = dict[str, NDArray[np.generic]]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to the system or to a tool, by its name: it is no data."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a folder; a link in a circle is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """The files of class folders, or of a flat folder: the path inside ``data``, and the label."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        labels = [label for _, label in data]
        if any(isinstance(label, str) for label in labels):
            numbers = {name: at for at, name in enumerate(sorted(set(map(str, labels))))}
            labels = [numbers[str(label)] for label in labels]
        return [path for path, _ in data], labels
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    found = named_files(data, suffixes)
    return [os.path.join(data, name) for name, _ in found], [label for _, label in found]


def find_videos(data: Any) -> dict[str, Any]:
    """Arguments of the video reader for a file, a folder, class folders or a list of files."""
    files, labels = files_of(data, VIDEOS)
    return {"filenames": files, "labels": labels}


def read_videos(device: str, **options: Any) -> Any:
    """Sequences, decoded on the CPU (colours always as BT.601) or on the GPU, and their labels."""
    side = "cpu" if device == "cpu" else "gpu"
    read: Any = fn.experimental.readers.video(device=side, **options)
    frames, labels = read
    return frames, labels if side == "cpu" else labels.cpu()


@pipeline_def
def video_clips_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    clips, labels = read_videos(
        **find_videos(data),
        sequence_length=8,
        stride=8,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        device=device,
        seed=seed,
        name="reader",
    )
    side = fn.random.uniform(range=[256, 320], seed=seed + 1)
    clips = fn.resize(clips, antialias=False, resize_shorter=side)
    x = fn.random.uniform(range=[0, 1], seed=seed + 2)
    y = fn.random.uniform(range=[0, 1], seed=seed + 3)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 4)
    clips = fn.crop_mirror_normalize(
        clips,
        dtype=types.FLOAT,
        output_layout="FCHW",
        crop=CROP,
        mean=MEAN,
        std=STD,
        crop_pos_x=x,
        crop_pos_y=y,
        mirror=mirror,
    )
    return clips, labels


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

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    """
    pipe = video_clips_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        prefetch_queue_depth=2,
    )
    pipe.build()
    return pipe


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
                    file, data = f"{key}.{name}.cls", str(array.item()).encode()
                else:
                    file, data = f"{key}.{name}.npy", npy_bytes(array)
                entry = tarfile.TarInfo(file)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            count += 1
    return count


def write_parquet(path: Path, samples: Iterator[tuple[str, Sample]]) -> int:
    """A row for each sample: ``key``, arrays as npy in bytes, labels as integers."""
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
    """The array as a file of NumPy's own format: shape and type come along."""
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
            unfinished.rename(folder / f"{name}.{self.args.format}")  # it is whole now
        return count

    def samples(self, epoch: int) -> Iterator[tuple[str, Sample]]:
        """Every sample of the shard once, with a key that no other has."""
        shards, batch_size = self.args.actors, self.args.batch_size
        total = self.pipe.reader_meta("reader")["epoch_size"]
        # With each epoch the reader goes on to the next shard.
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
    parser.add_argument(
        "--data", required=True, help="video (.avi, .webm, or a folder of these)"
    )
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
    args.data = os.path.abspath(args.data)
    args.out = os.path.abspath(args.out)
    if any(Path(args.out).glob("shard-*")):  # its samples would count twice
        parser.error(f"{args.out} has shards of another run: name a new folder")

    ray.init(address=args.address)
    each = {"CPU": args.threads, "GPU": 1 if args.device == "mixed" else 0}
    have = ray.cluster_resources()
    for kind, number in each.items():
        if number * args.actors > have.get(kind, 0):  # Ray would wait for more for ever
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
