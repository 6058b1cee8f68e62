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


def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All shards have the same number of batches, and no batch is empty: where the last one
    would be, the batch before it leaves it one sample. With a batch size of 1 this is not
    possible: a shard that has one sample less has one batch less.
    """
    samples, shards = meta["epoch_size"], meta["number_of_shards"]
    # A reader moves to the next shard after each epoch.
    shard = (meta["shard_id"] + (0 if meta["stick_to_shard"] else epoch)) % shards
    size = (shard + 1) * samples // shards - shard * samples // shards
    sizes = [min(batch_size, size - start) for start in range(0, size, batch_size)]
    if batch_size > 1 and size % batch_size == 0 and size * shards < samples:
        sizes[-1:] = [batch_size - 1, 1]  # another shard has one sample more
    return sizes


class Loader:
    """Batches as dictionaries of arrays: ``clips``, ``labels``.

    Each device reads one shard, with ``batch_size`` and ``num_threads`` of its own. Every
    batch has the same shapes, as ``jit`` needs them: where a shard ends, its last sample is
    repeated, and the boolean array ``valid`` marks the samples that count: each one once in
    an epoch, and with a batch size above 1 at least one of each device in every batch.
    Labels have the shape [N].

    An epoch that is left early continues with the next ``iter``. One loader has one iterator
    at a time: the older one raises RuntimeError.
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
        self.metas = [pipe.reader_meta("reader") for pipe in pipes]
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
            batch = {name: self.join([p[name] for p in parts]) for name in OUTPUTS}
            batch["labels"] = batch["labels"].squeeze(-1)
            # With batches of 1 sample a shard can have a batch less.
            valid = [each[number] if number < len(each) else 0 for each in sizes]
            batch["valid"] = self.join([np.arange(self.batch_size) < n for n in valid])
            yield batch

    def join(self, parts: Sequence[jax.Array | np.ndarray]) -> jax.Array:
        """One array of the parts, each on its own device."""
        shape = (self.num_shards * self.batch_size, *parts[0].shape[1:])
        placed = list(map(jax.device_put, parts, self.devices))
        return jax.make_array_from_single_device_arrays(shape, self.sharding, placed)
