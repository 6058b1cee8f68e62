"""Slices of MR volumes with two modalities, for 2D training as in nnU-Net (arXiv
1809.10486).

Yields images (float32) and labels (int32 [1]). With device='mixed' labels stay on
the CPU.

Usage: python pipe.py --data DIR [--device cpu|mixed] [--batch-size N] [--batches N]

Needs nvidia-dali-cuda120.
"""

import argparse
import glob
import os
import tempfile
import time
from typing import Any

from nvidia.dali import Pipeline, fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import do_not_convert

BATCH_SIZE = 32
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [256, 256]


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


def array_axes(path: str) -> list[int]:
    """Return the array axes of a file in the order of an image or sequence (-1: no channels).

    Raises ValueError for a file that DALI does not read.
    """
    from numpy.lib import format as npy

    with open(path, "rb") as file:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("the version of the format is not 1")
        try:
            shape = npy.read_array_header_1_0(file)[0]
        except Exception as error:  # NumPy parses it as Python: damage raises errors of any type
            raise ValueError("its header cannot be read") from error
    if len(shape) not in (2, 3, 4) or min(shape) < 1:
        raise ValueError(f"its shape is {shape}")
    has_channels = len(shape) == 4 or (len(shape) == 3 and shape[-1] <= 4)
    return [*range(len(shape)), *([] if has_channels else [-1])]


def label_files(labels: Any) -> list[str]:
    """Write a temporary file for each distinct label, and return one of them for each array.

    A second reader reads these files in the order of the arrays.
    """
    import numpy

    folder = os.path.join(tempfile.gettempdir(), f"array-labels-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(
            f"{folder} belongs to another user. Set TMPDIR to a folder of your own"
        )
    paths = {label: os.path.join(folder, f"{label}.npy") for label in labels}
    for label, path in paths.items():
        if not os.path.isfile(path):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                numpy.save(file, numpy.array([label], numpy.int32))
            os.replace(file.name, path)
    return [paths[label] for label in labels]


@do_not_convert
def find_arrays(data: Any) -> dict[str, Any]:
    """Return the files' paths and labels, and the array axes of the first readable file."""
    files, labels = files_of(data, (".npy",))
    axes = [0, 1, 2]
    for path in files:
        try:
            axes = array_axes(path)
            break
        except (OSError, ValueError):
            continue
    return {"files": files, "labels": labels, "axes": axes}


@do_not_convert
def read_arrays(files: Any, labels: Any, axes: Any, device: str, **options: Any) -> Any:
    """Return images or sequences and their labels, from two readers with the same shuffling."""
    images = fn.readers.numpy(files=files, **options)
    images = fn.reshape(images, src_dims=axes, layout="FHWC"[-len(axes) :])
    whole = {name: value for name, value in options.items() if "roi" not in name and name != "name"}
    labels = fn.readers.numpy(files=label_files(labels), **whole)
    return images if device == "cpu" else images.gpu(), labels


@pipeline_def(enable_conditionals=True)
def two_modalities_pipeline(data: str, device: str, seed: int) -> tuple[DataNode, ...]:
    images, labels = read_arrays(
        **find_arrays(data),
        random_shuffle=True,
        device=device,
        seed=seed,
        name="reader",
    )
    place = fn.random.uniform(range=[0, 0.95], shape=[1], seed=seed + 30)
    images = fn.slice(images, axes=[0], shape=[1], rel_start=place)
    images = fn.squeeze(images, axes=[0])
    images = fn.cast(images, dtype=types.FLOAT)
    images = fn.resize(images, size=SIZE)
    images = fn.normalize(images, axis_names="HW", epsilon=1e-06)
    with_rotated = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 1)
    angle = fn.random.uniform(range=[-180, 180], seed=seed + 2)
    if with_rotated:
        images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
    with_scaled = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 3)
    scale = fn.random.uniform(range=[0.7, 1.4], seed=seed + 4)
    if with_scaled:
        scaling = fn.transforms.scale(ndim=2, center=[128, 128], scale=scale)
        images = fn.warp_affine(images, fill_value=0, matrix=scaling)
    with_noisy = fn.random.coin_flip(probability=0.1, dtype=types.BOOL, seed=seed + 5)
    deviation = fn.random.uniform(range=[0, 0.1], seed=seed + 6)
    if with_noisy:
        images = fn.noise.gaussian(images, stddev=deviation, seed=seed + 7)
    with_blurred = fn.random.coin_flip(probability=0.1, dtype=types.BOOL, seed=seed + 8)
    sigma = fn.random.uniform(range=[0.5, 1], shape=[2], seed=seed + 9)
    if with_blurred:
        images = fn.gaussian_blur(images, sigma=sigma)
    with_brightened = fn.random.coin_flip(
        probability=0.15, dtype=types.BOOL, seed=seed + 10
    )
    brightness = fn.random.uniform(range=[0.75, 1.25], seed=seed + 11)
    if with_brightened:
        images = images * brightness
    with_contrasted = fn.random.coin_flip(
        probability=0.15, dtype=types.BOOL, seed=seed + 12
    )
    contrast = fn.random.uniform(range=[0.75, 1.25], seed=seed + 13)
    if with_contrasted:
        darkest = fn.reductions.min(images, axes=[0, 1], keep_dims=True)
        brightest = fn.reductions.max(images, axes=[0, 1], keep_dims=True)
        mean = fn.reductions.mean(images, axes=[0, 1], keep_dims=True)
        apart = images - mean
        wider = apart * contrast
        recentred = wider + mean
        images = math.clamp(recentred, darkest, brightest)
    with_coarsened = fn.random.coin_flip(
        probability=0.125, dtype=types.BOOL, seed=seed + 14
    )
    resolution = fn.random.uniform(range=[0.5, 1], seed=seed + 15)
    if with_coarsened:
        side = resolution * 256.0
        coarse = fn.resize(
            images, interp_type=types.INTERP_NN, resize_x=side, resize_y=side
        )
        images = fn.resize(coarse, size=SIZE, antialias=False)
    with_inverted_gamma = fn.random.coin_flip(
        probability=0.1, dtype=types.BOOL, seed=seed + 16
    )
    curvature_1 = fn.random.uniform(range=[-1, 1], seed=seed + 17)
    if with_inverted_gamma:
        images = -images
        steep_1 = curvature_1 * 0.5
        flat_1 = curvature_1 * 0.3
        bend_1 = math.max(steep_1, flat_1)
        gamma_1 = bend_1 + 1.0
        low_1 = fn.reductions.min(images, axes=[0, 1], keep_dims=True)
        high_1 = fn.reductions.max(images, axes=[0, 1], keep_dims=True)
        span_1 = high_1 - low_1
        divisor_1 = math.max(span_1, 1e-07)
        shifted_1 = images - low_1
        unit_1 = shifted_1 / divisor_1
        curve_1 = math.fpow(unit_1, gamma_1)
        mean_1 = fn.reductions.mean(images, axes=[0, 1], keep_dims=True)
        deviation_1 = fn.reductions.std_dev(images, mean_1, axes=[0, 1], keep_dims=True)
        standard_1 = fn.normalize(curve_1, axis_names="HW", epsilon=1e-12)
        spread_1 = standard_1 * deviation_1
        restored_1 = spread_1 + mean_1
        images = -restored_1
    with_plain_gamma = fn.random.coin_flip(
        probability=0.3, dtype=types.BOOL, seed=seed + 18
    )
    curvature_2 = fn.random.uniform(range=[-1, 1], seed=seed + 19)
    if with_plain_gamma:
        steep_2 = curvature_2 * 0.5
        flat_2 = curvature_2 * 0.3
        bend_2 = math.max(steep_2, flat_2)
        gamma_2 = bend_2 + 1.0
        low_2 = fn.reductions.min(images, axes=[0, 1], keep_dims=True)
        high_2 = fn.reductions.max(images, axes=[0, 1], keep_dims=True)
        span_2 = high_2 - low_2
        divisor_2 = math.max(span_2, 1e-07)
        shifted_2 = images - low_2
        unit_2 = shifted_2 / divisor_2
        curve_2 = math.fpow(unit_2, gamma_2)
        mean_2 = fn.reductions.mean(images, axes=[0, 1], keep_dims=True)
        deviation_2 = fn.reductions.std_dev(images, mean_2, axes=[0, 1], keep_dims=True)
        standard_2 = fn.normalize(curve_2, axis_names="HW", epsilon=1e-12)
        spread_2 = standard_2 * deviation_2
        images = spread_2 + mean_2
    horizontal = fn.random.coin_flip(probability=0.5, seed=seed + 20)
    vertical = fn.random.coin_flip(probability=0.5, seed=seed + 21)
    images = fn.flip(images, horizontal=horizontal, vertical=vertical)
    images = fn.transpose(images, perm=[2, 0, 1])
    images = fn.reinterpret(images, layout="CHW")
    return images, labels


def build_pipeline(
    data: str,
    batch_size: int = BATCH_SIZE,
    num_threads: int = NUM_THREADS,
    device: str = DEVICE,
    seed: int = SEED,
) -> Pipeline:
    """Return the built pipeline; ``device`` is where images are decoded: cpu or mixed."""
    pipe = two_modalities_pipeline(
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
    parser = argparse.ArgumentParser(description="Run the pipeline and print imgs/s.")
    parser.add_argument(
        "--data", required=True, help="NumPy files (.npy, or a folder of these)"
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
    print(f"{args.batches * args.batch_size / (time.perf_counter() - t0):.0f} imgs/s")


if __name__ == "__main__":
    main()
