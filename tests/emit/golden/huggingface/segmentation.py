"""segmentation: Semantic segmentation as torchvision trains DeepLabV3 (arXiv
1706.05587): 480 px, masks follow.

A Trainer that trains on DALI's batches, each rank on a shard of its own. Where DEVICE is
mixed they are decoded and augmented on its own GPU.

    arguments = TrainingArguments("out", per_device_train_batch_size=BATCH_SIZE)
    DaliTrainer(model, arguments, data="DIR").train()

Needs torch, transformers and nvidia-dali-cuda120.
"""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor
from transformers import Trainer

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [480, 480]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["pixel_values", "masks"]


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


@pipeline_def
def segmentation_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, _boxes, _labels, masks = fn.readers.coco(
        **find_annotations(data),
        pixelwise_masks=True,
        skip_empty=True,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    side = fn.random.uniform(range=[260, 1040], seed=seed + 1)
    images = fn.resize(images, resize_shorter=side)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.flip(images, horizontal=mirror)
    images = fn.pad(images, axis_names="HW", shape=CROP)
    x = fn.random.uniform(range=[0, 1], seed=seed + 3)
    y = fn.random.uniform(range=[0, 1], seed=seed + 4)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=CROP,
        mean=MEAN,
        std=STD,
        crop_pos_x=x,
        crop_pos_y=y,
    )
    # Masks in step with images
    masks = fn.cast(masks, dtype=types.FLOAT)
    masks = fn.resize(masks, interp_type=types.INTERP_NN, resize_shorter=side)
    masks = fn.flip(masks, horizontal=mirror)
    masks = fn.pad(masks, axis_names="HW", shape=CROP)
    masks = fn.crop(masks, crop=CROP, crop_pos_x=x, crop_pos_y=y)
    masks = fn.cast(masks, dtype=types.INT32)
    return images, masks


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
    pipe = segmentation_pipeline(
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


class Loader:
    """Batches by the names of a model's arguments: ``pixel_values``, ``masks``."""

    def __init__(self, pipe: Pipeline) -> None:
        self.batches = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="reader",  # it knows how long an epoch is
            last_batch_policy=LastBatchPolicy.FILL,  # as many for each rank
            auto_reset=True,
        )

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for (batch,) in self.batches:
            yield batch


class DaliTrainer(Trainer):
    """Trains on DALI; evaluation and everything else are the Trainer's."""

    def __init__(self, *args: Any, data: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.data = data

    def get_train_dataloader(self) -> Loader:
        return Loader(
            build_pipeline(
                self.data,
                self.args.per_device_train_batch_size,
                seed=SEED if self.args.data_seed is None else self.args.data_seed,
                shard_id=self.args.process_index,
                num_shards=self.args.world_size,
                device_id=self.args.device.index or 0,
            )
        )
