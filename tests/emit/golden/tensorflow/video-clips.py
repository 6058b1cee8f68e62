"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

Batches as TensorFlow tensors, for Keras or a loop of your own:

    for batch in Loader(build_pipeline("DIR", shard_id=rank, num_shards=world_size)):
        ...

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

import os
from collections.abc import Iterator
from math import ceil
from typing import Any

import tensorflow as tf
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.tf import DALIDataset

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [0.45 * 255]
STD = [0.225 * 255]
OUTPUTS = ["clips", "labels"]
DTYPES = (tf.float32, tf.int32)
SHAPES = ((None, 3, 224, 224), (1,))


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
    """Batches as dictionaries of tensors: ``clips``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. An epoch that is left early continues with the next ``iter``. One loader
    has one iterator at a time: the older one raises RuntimeError. Labels have the shape [N].

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=loader.longest)``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(self, pipe: Pipeline) -> None:
        self.meta, self.batch_size = pipe.reader_meta("reader"), pipe.max_batch_size
        self.epoch, self.given = 0, 0  # batches of this epoch
        longest_shard = ceil(self.meta["epoch_size"] / self.meta["number_of_shards"])
        # The batches of an epoch of ``dataset``, which includes the padding.
        self.longest = ceil(longest_shard / self.batch_size)
        self.newest: object = None
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{pipe.device_id}"
        # DALIDataset makes a pipeline of its own out of this one, which is only asked things.
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=self.batch_size,
                num_threads=pipe.num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((self.batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self.stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        return batch_sizes(self.meta, self.epoch, self.batch_size)

    def __len__(self) -> int:
        return len(self.sizes())

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        self.newest = current = object()
        if self.stream is None:  # another one would begin with the first epoch again
            self.stream = iter(self.dataset)
        sizes = self.sizes()
        for number in range(self.given, len(sizes)):
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            tensors = next(self.stream)
            self.given = number + 1
            if self.given == len(sizes):  # a consumer may stop here
                for _ in range(len(sizes), self.longest):
                    next(self.stream)  # padding
                self.epoch, self.given = self.epoch + 1, 0
            left = sizes[number]  # the rest is padding
            batch = {name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}
            batch["labels"] = tf.squeeze(batch["labels"], -1)
            yield batch
