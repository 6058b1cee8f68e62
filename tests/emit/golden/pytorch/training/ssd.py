"""ssd: SSD300 detection as NVIDIA trains it (arXiv 1512.02325): crops by overlap,
colour, mirror.

A PyTorch loader, and a training loop to start from.

Usage: python loader.py --data COCO.json [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py --data COCO.json    (each rank reads one shard)

Needs torch, torchvision and nvidia-dali-cuda120.
"""

import argparse
import json
import os
import pathlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIRaggedIterator
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

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


def detection_form(
    batch: dict[str, Any],
) -> tuple[list[Tensor], list[dict[str, Tensor]]]:
    """Images and targets as torchvision's detection models take them.

    Images are floats (C, H, W); boxes (N, 4) are corners in pixels, labels (N,) int64.
    """
    images = [image for image in batch["images"]]
    targets = []
    pairs = zip(images, batch["boxes"], batch["labels"], strict=True)
    for image, boxes, labels in pairs:
        height, width = image.shape[-2:]
        boxes = boxes * boxes.new_tensor([width, height, width, height])
        targets.append({"boxes": boxes, "labels": labels.long()})
    return images, targets


def loss_of(model: nn.Module, batch: dict[str, Any]) -> Tensor:
    """The sum of a detection model's losses, times the number of images."""
    images, targets = detection_form(batch)
    losses: dict[str, Tensor] = model(images, targets)
    return torch.stack([*losses.values()]).sum() * len(images)


def train(args: argparse.Namespace) -> None:
    """A loop to start from, with a model to put yours in the place of."""
    from torchvision.models import detection

    rank = int(os.environ.get("RANK", "0"))  # torchrun sets these three
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    if world_size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")

    model: nn.Module = detection.fasterrcnn_mobilenet_v3_large_320_fpn(
        weights=None,
        weights_backbone=None,
        num_classes=args.classes + 1,  # 0 is the background
    ).to(place)
    if world_size > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # Each rank reads its own shard and saves its own file.
    file = Path(f"{args.save}.{rank}") if args.save else None
    saved = {}
    if file and file.exists():
        saved = torch.load(file, map_location=place, weights_only=True)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    pipe = build_pipeline(
        args.data,
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=world_size,
        device_id=local_rank,
        resumable=file is not None,
        checkpoint=saved.get("loader"),
    )
    # With batches of 1 sample a rank can have a batch less, and the others would wait for it.
    fill = world_size > 1 and args.batch_size == 1
    last_batch = LastBatchPolicy.FILL if fill else LastBatchPolicy.PARTIAL
    loader = Loader(pipe, last_batch)
    for epoch in range(saved.get("epochs", 0), args.epochs):
        total, count = torch.zeros((), device=place), 0
        for batch in loader:
            for name, found in batch.items():
                if name in LISTS:
                    batch[name] = [tensor.to(place) for tensor in found]
                else:
                    batch[name] = found.to(place)
            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / size).backward()
            optimizer.step()
            total, count = total + loss.detach(), count + size
        print(f"rank {rank}, epoch {epoch}: {count} samples, loss {total / count:.3f}")
        if file:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "loader": loader.checkpoint(),
                "epochs": epoch + 1,
            }
            torch.save(state, file)
    if world_size > 1:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description="Train on the pipeline's batches.")
    parser.add_argument("--data", required=True, help="COCO annotations (.json)")
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--classes", type=int, default=80)
    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
