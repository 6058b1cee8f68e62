"""ssd: SSD300 detection as NVIDIA trains it (arXiv 1512.02325): crops by overlap,
colour, mirror.

Batches as PyTorch tensors:

    for batch in Loader(build_pipeline("COCO.json", shard_id=rank, num_shards=world_size)):
        ...

Needs torch and nvidia-dali-cuda120.
"""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIRaggedIterator

BATCH_SIZE = 32
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
MEAN = [0.0]
STD = [255.0]
OUTPUTS = ["images", "boxes", "labels"]
LISTS = ["boxes", "labels"]


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
    resumable: bool = False,
    checkpoint: bytes | None = None,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    With ``resumable`` the loader can save its state; ``checkpoint`` resumes from a saved one.
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
        enable_checkpointing=resumable or checkpoint is not None,
        checkpoint=checkpoint,
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
    """Batches as dictionaries of tensors: ``images``, ``boxes``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. ``last_batch`` can repeat the last sample (FILL) or drop a short batch
    (DROP) instead.
    An epoch that is left early continues with the next ``iter``, or is skipped with
    ``restart=True``. One loader has one iterator at a time: the older one raises RuntimeError.
    The outputs in ``LISTS`` are lists with a tensor for each image.
    """

    def __init__(
        self,
        pipe: Pipeline,
        last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL,
        restart: bool = False,
    ) -> None:
        self.partial, self.restart = last_batch == LastBatchPolicy.PARTIAL, restart
        self.meta, self.batch_size = pipe.reader_meta("reader"), pipe.max_batch_size
        self.batches = DALIRaggedIterator(
            [pipe],
            OUTPUTS,
            output_types=[
                DALIRaggedIterator.SPARSE_LIST_TAG
                if name in LISTS
                else DALIRaggedIterator.DENSE_TAG
                for name in OUTPUTS
            ],
            reader_name="reader",  # it knows how long an epoch is
            last_batch_policy=LastBatchPolicy.FILL if self.partial else last_batch,
            auto_reset=True,
        )
        # Batches of this epoch; DALI has prepared and counted the next one.
        self.given = max(0, int(self.batches._counter) // self.batch_size - 1)
        self.newest: object = None

    def sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        if not self.partial:
            return [self.batch_size] * len(self.batches)
        epoch = int(self.batches._shards_id[0]) - self.meta["shard_id"]
        return batch_sizes(self.meta, epoch, self.batch_size)

    def __len__(self) -> int:
        return len(self.sizes())

    def end_epoch(self) -> None:
        """Skip the rest of the epoch."""
        while next(self.batches, None):
            pass
        self.given = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.newest = current = object()
        if self.restart and self.given:
            self.end_epoch()
        sizes = self.sizes()
        for number in range(self.given, len(sizes)):
            if self.newest is not current:
                raise RuntimeError("a newer iterator has replaced this one")
            (batch,) = next(self.batches)  # a list with one entry for each pipeline
            self.given = number + 1
            if self.given == len(sizes):
                self.end_epoch()  # a consumer may stop here
            yield {name: values[: sizes[number]] for name, values in batch.items()}

    def checkpoint(self) -> bytes:
        """Return the state of the loader of a resumable pipeline."""
        return self.batches.checkpoints()[0]
