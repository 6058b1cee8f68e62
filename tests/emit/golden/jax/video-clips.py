"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

Batches as JAX arrays, through DALI's own data iterator:

    for batch in make_iterator("DIR"):
        images = batch["clips"]

Needs jax and nvidia-dali-cuda120.
"""

import os
from typing import Any

from nvidia.dali import fn, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.jax import DALIGenericIterator, data_iterator

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [114.75]
STD = [57.375]
OUTPUTS = ["clips", "labels"]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without those that begin with a dot."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        return [path for path, _ in data], [label for _, label in data]
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    files: list[str] = []
    labels: list[int] = []
    for label, folder in enumerate(class_folders(data) or [""]):
        place = os.path.join(data, folder)
        names = sorted(name for name in os.listdir(place) if name.lower().endswith(suffixes))
        files += [os.path.join(place, name) for name in names if not name.startswith(".")]
        labels += [label] * (len(files) - len(labels))
    return files, labels


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


@data_iterator(output_map=OUTPUTS, reader_name="reader", auto_reset=True)
def video_clips_iterator(
    data: str, device: str, base_seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    base_seed += 100_000 * shard_id  # shards draw apart
    clips, labels = read_videos(
        **find_videos(data),
        sequence_length=8,
        stride=8,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        device=device,
        seed=base_seed,
        name="reader",
    )
    side = fn.random.uniform(range=[256, 320], seed=base_seed + 1)
    clips = fn.resize(clips, antialias=False, resize_shorter=side)
    x = fn.random.uniform(range=[0, 1], seed=base_seed + 2)
    y = fn.random.uniform(range=[0, 1], seed=base_seed + 3)
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 4)
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


def make_iterator(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    seed: int = SEED,
    shard_id: int = 0,
    num_shards: int = 1,
) -> DALIGenericIterator:
    """Batches as dictionaries of arrays: ``clips``, ``labels``.

    Where an epoch ends, the last sample is
    repeated: every batch has the same shapes, as ``jit`` likes them.
    Labels have the shape [N, 1].

    Nothing in the pipeline gives ``clips`` one size: photos of several
    sizes do not make a batch. Resize or crop them.
    """
    return video_clips_iterator(
        data,
        DEVICE,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        prefetch_queue_depth=2,
        shard_id=shard_id,
        num_shards=num_shards,
        device_id=None,
    )
