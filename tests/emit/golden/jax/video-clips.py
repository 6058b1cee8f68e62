"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

Batches as JAX arrays that are split over all devices, of this process and of the others:

    for batch in Loader("DIR", batch_size=64):
        ...

Needs jax and nvidia-dali-cuda120.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.jax import DALIGenericIterator

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [0.45 * 255]
STD = [0.225 * 255]
OUTPUTS = ["clips", "labels"]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to the system or to a tool, by its name: it is no data."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found", "__pycache__")
    return name.startswith(".") or name.lower() in (*system, "system volume information")


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
            names = [
                e.name for e in entries if e.name.lower().endswith(suffixes) and not is_folder(e)
            ]
        shown = sorted(name for name in names if not is_hidden(name))
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
    """Sequences, decoded on the CPU or on the GPU, and their labels."""
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


class Loader:
    """Batches as dictionaries of arrays: ``clips``, ``labels``.

    Each device reads one shard, with ``batch_size`` and ``num_threads`` of its own. Every
    batch has the same shapes, as ``jit`` likes them: where a shard ends, its last sample is
    repeated, and the boolean array ``valid`` says which samples count; in one epoch every
    sample does once.
    Labels have the shape [N].
    """

    def __init__(
        self,
        data: str,
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
            video_clips_pipeline(
                data,
                device,
                seed + 100_000 * shard_id,  # shards draw apart
                shard_id,
                self.num_shards,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=place.local_hardware_id if device == "mixed" else None,
                prefetch_queue_depth=2,
            )
            for shard_id, place in zip(self.shards, self.devices, strict=True)
        ]
        # An iterator for each device: one for all of them would want a GPU for each.
        self.iterators = [
            DALIGenericIterator([pipe], OUTPUTS, reader_name="reader", auto_reset=True)
            for pipe in pipes
        ]
        self.samples = pipes[0].reader_meta("reader")["epoch_size"]
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
            batch["labels"] = batch["labels"].squeeze(-1)
            numbers = np.arange(self.seen, self.seen + self.batch_size)
            batch["valid"] = self.join([numbers < size for size in sizes])
            self.seen += self.batch_size
            yield batch
        self.epoch, self.seen = self.epoch + 1, 0

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
