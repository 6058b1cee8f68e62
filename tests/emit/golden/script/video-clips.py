"""Video clips for Slow 8x8, as in SlowFast (arXiv 1812.03982): short side 256 to 320,
crop 224.

Yields clips (float32 FCHW [8, 3, 224, 224]) and labels (int32 [1]). With
device='mixed' labels stay on the CPU.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import glob
import os
import time
from typing import Any

from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
CROP = [224, 224]
MEAN = [0.45 * 255]
STD = [0.225 * 255]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the system, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information", "thumbs.db", "desktop.ini")
    return name.startswith(".") or name.lower() in system + others


def is_pattern(data: Any) -> bool:
    """Return whether data are a pattern of file names, such as photos/**/*.jpg."""
    return isinstance(data, str) and glob.has_magic(data) and not os.path.exists(data)


def matching_files(pattern: str) -> list[tuple[str, Any]]:
    """Return the path and label of each visible file that matches a pattern, sorted by path.

    The label is the name of the file's folder, or 0 if all files are in one folder.
    """
    parts = os.path.abspath(pattern).split(os.sep)
    first = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    paths = [
        path
        for path in sorted(glob.glob(os.sep.join(parts), recursive=True))
        if not any(map(is_hidden, path.split(os.sep)[first:])) and not os.path.isdir(path)
    ]
    folders = [os.path.basename(os.path.dirname(path)) for path in paths]
    several = len({os.path.dirname(path) for path in paths}) > 1
    return list(zip(paths, folders if several else [0] * len(paths), strict=True))


def pattern_folder(pattern: str) -> str:
    """Return the absolute path of the folder in which a pattern is searched: ``photos``."""
    path = os.path.abspath(pattern)
    while glob.has_magic(path):
        path = os.path.dirname(path)
    return path


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder entry is a folder; False for circular links."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """Return the visible subfolders of a folder, sorted by name."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the relative path and label of each file in class folders or a flat folder."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """Return paths and labels for class folders, a flat folder, a file, a list, or a pattern."""
    data = matching_files(data) if is_pattern(data) else data
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
    """Return the arguments of the video reader for a file, a folder, class folders or a list."""
    files, labels = files_of(data, VIDEOS)
    return {"filenames": files, "labels": labels}


def read_videos(device: str, **options: Any) -> Any:
    """Return sequences, labels, and frame numbers and times if options add them.

    Colours are always converted as BT.601.
    """
    side = "cpu" if device == "cpu" else "gpu"
    read: Any = fn.experimental.readers.video(device=side, **options)
    frames, *others = read
    return frames, *(others if side == "cpu" else [each.cpu() for each in others])


@pipeline_def
def video_clips_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    clips, labels = read_videos(
        **find_videos(data),
        sequence_length=8,
        stride=8,
        random_shuffle=True,
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
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = video_clips_pipeline(
        data,
        device,
        seed,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=0 if device == "mixed" else None,
    )
    pipe.build()
    return pipe


def main() -> None:
    parser = argparse.ArgumentParser(description="Run it and print sequences/s.")
    parser.add_argument(
        "--data", required=True, help="video (.avi, .webm, or a folder of these)"
    )
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--batches", type=int, default=50)
    args = parser.parse_args()

    pipe = build_pipeline(args.data, args.batch_size, args.threads, args.device)
    for _ in range(5):  # the first batches fill queues and allocate memory
        pipe.run()
    t0 = time.perf_counter()
    for _ in range(args.batches):
        pipe.run()
    rate = args.batches * args.batch_size / (time.perf_counter() - t0)
    print(f"{rate:.1f} sequences/s, {rate * 8:.0f} frames/s")


if __name__ == "__main__":
    main()
