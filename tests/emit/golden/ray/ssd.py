"""ssd: SSD300 detection as NVIDIA trains it (arXiv 1512.02325): crops by overlap,
colour, mirror.

The pipeline on many machines: Ray actors read one shard each and write augmented shards,
as WebDataset tar files or as Parquet. Every machine must see what they read and write.

Usage: python augment.py --data COCO.json --out DIR [--actors N] [--epochs N] [--format tar]

Needs ray, numpy and nvidia-dali-cuda120; pyarrow for Parquet.
"""

import argparse
import io
import json
import os
import pathlib
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
from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline

BATCH_SIZE = 32
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
MEAN = [0.0]
STD = [255.0]
OUTPUTS = ["images", "boxes", "labels"]
LABELS = []

Sample = dict[str, NDArray[np.generic]]


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


def clip_boxes(boxes: Any, axes: int = 2) -> Any:
    """Clip boxes (starts, ends) to the image: random_bbox_crop accepts no others.

    Boxes outside the image or in pixels are not clipped, so DALI raises for them.
    """
    starts, ends = boxes[:, :axes], boxes[:, axes:]
    before = math.min(math.min(starts + 1.0, ends), 0.0)
    after = math.max(math.max(ends - 1.0, starts) - 1.0, 0.0)
    low, high = math.max(starts, 0.0) + before, math.min(ends, 1.0) + after
    return fn.cat(low, high, axis=1)


@pipeline_def
def ssd_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, boxes, labels = fn.readers.coco(
        **find_annotations(data),
        ratio=True,
        ltrb=True,
        skip_empty=True,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    crop_anchor, crop_shape, boxes, labels = fn.random_bbox_crop(
        clip_boxes(boxes),
        labels,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=1,
        seed=seed + 1,
    )
    images = fn.decoders.image_slice(
        jpegs, crop_anchor, crop_shape, output_type=types.RGB, device=device
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    flip = fn.flip(images, horizontal=mirror)
    resize = fn.resize(flip, resize_x=300, resize_y=300)
    hue = fn.random.uniform(range=[-0.5, 0.5], seed=seed + 3)
    saturation = fn.random.uniform(range=[0.5, 1.5], seed=seed + 4)
    hsv = fn.hsv(resize, dtype=types.FLOAT, hue=hue, saturation=saturation)
    brightness = fn.random.uniform(range=[0.875, 1.125], seed=seed + 5)
    contrast = fn.random.uniform(range=[0.5, 1.5], seed=seed + 6)
    light = fn.brightness_contrast(
        hsv,
        contrast_center=128,
        dtype=types.UINT8,
        brightness=brightness,
        contrast=contrast,
    )
    normalize = fn.crop_mirror_normalize(
        light, dtype=types.FLOAT, output_layout="CHW", mean=MEAN, std=STD
    )
    # Boxes in step with normalize, from images on: boxes, labels
    follow_boxes_corners = fn.cat(
        boxes, types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])
    )
    follow_boxes_size_0 = fn.cast(images.shape(), dtype=types.FLOAT)
    follow_boxes_sides = fn.stack(
        follow_boxes_size_0[1],
        follow_boxes_size_0[0],
        follow_boxes_size_0[1],
        follow_boxes_size_0[0],
    )
    follow_boxes_corners = follow_boxes_corners * follow_boxes_sides
    follow_boxes_low = follow_boxes_corners[:, 0:2]
    follow_boxes_high = follow_boxes_corners[:, 2:4]
    follow_boxes_down = fn.cat(
        follow_boxes_high[:, 0:1], follow_boxes_low[:, 1:2], axis=1
    )
    follow_boxes_up = fn.cat(
        follow_boxes_low[:, 0:1], follow_boxes_high[:, 1:2], axis=1
    )
    follow_boxes_corners = fn.stack(
        follow_boxes_low, follow_boxes_down, follow_boxes_high, follow_boxes_up, axis=1
    )
    follow_boxes_map = fn.transforms.scale(
        scale=fn.stack(1.0 - 2.0 * mirror, 1.0 - 2.0 * 0),
        center=fn.stack(follow_boxes_size_0[1] / 2, follow_boxes_size_0[0] / 2),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_size_1 = fn.cast(flip.shape(), dtype=types.FLOAT)
    follow_boxes_size_2 = fn.cast(resize.shape(), dtype=types.FLOAT)
    follow_boxes_map = fn.transforms.scale(
        scale=fn.stack(
            follow_boxes_size_2[1] / follow_boxes_size_1[1],
            follow_boxes_size_2[0] / follow_boxes_size_1[0],
        ),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_size_3 = fn.cast(light.shape(), dtype=types.FLOAT)
    follow_boxes_size_4 = fn.cast(normalize.shape(), dtype=types.FLOAT)
    follow_boxes_map_x = fn.cast(
        0.5 * (follow_boxes_size_3[1] - follow_boxes_size_4[2]), dtype=types.INT32
    )
    follow_boxes_map_y = fn.cast(
        0.5 * (follow_boxes_size_3[0] - follow_boxes_size_4[1]), dtype=types.INT32
    )
    follow_boxes_map = fn.transforms.translation(
        offset=fn.stack(-1.0 * follow_boxes_map_x, -1.0 * follow_boxes_map_y)
    )
    follow_boxes_map = fn.transforms.scale(
        follow_boxes_map,
        scale=fn.stack(1.0 - 2.0 * 0, 1.0),
        center=fn.stack(follow_boxes_size_4[2] / 2, follow_boxes_size_4[1] / 2),
    )
    follow_boxes_corners = fn.coord_transform(follow_boxes_corners, MT=follow_boxes_map)
    follow_boxes_low = fn.reductions.min(follow_boxes_corners, axes=1)
    follow_boxes_high = fn.reductions.max(follow_boxes_corners, axes=1)
    follow_boxes_edge = fn.stack(follow_boxes_size_4[2], follow_boxes_size_4[1])
    follow_boxes_sides = follow_boxes_high - follow_boxes_low
    follow_boxes_area = follow_boxes_sides[:, 0:1] * follow_boxes_sides[:, 1:2]
    follow_boxes_low = math.min(math.max(follow_boxes_low, 0.0), follow_boxes_edge)
    follow_boxes_high = math.min(math.max(follow_boxes_high, 0.0), follow_boxes_edge)
    follow_boxes_sides = follow_boxes_high - follow_boxes_low
    follow_boxes_seen = follow_boxes_sides[:, 0:1] * follow_boxes_sides[:, 1:2]
    follow_boxes_enough = follow_boxes_seen >= 0.25 * follow_boxes_area
    follow_boxes_seen = 1.0 * (follow_boxes_enough & (follow_boxes_seen > 0.0))
    follow_boxes_kept = fn.cat(
        follow_boxes_low / follow_boxes_edge,
        follow_boxes_high / follow_boxes_edge,
        axis=1,
    )
    follow_boxes_left_out = 1.0 - follow_boxes_seen
    follow_boxes_kept = follow_boxes_seen * follow_boxes_kept + follow_boxes_left_out
    follow_boxes_kept = fn.cat(
        follow_boxes_kept[:-1], types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])
    )
    follow_boxes_labels = fn.cat(labels, types.Constant([0], shape=[1]))
    _, _, follow_boxes_kept, follow_boxes_labels = fn.random_bbox_crop(
        follow_boxes_kept,
        follow_boxes_labels,
        bbox_layout="xyXY",
        aspect_ratio=[1.0, 1.0],
        scaling=[1.0, 1.0],
        thresholds=[0.0],
        allow_no_crop=False,
        total_num_attempts=1,
        seed=seed,
    )
    boxes = follow_boxes_kept[:-1]
    labels = follow_boxes_labels[:-1]
    return normalize, boxes, labels


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
    pipe = ssd_pipeline(
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
    parser.add_argument("--data", required=True, help="COCO annotations (.json)")
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
