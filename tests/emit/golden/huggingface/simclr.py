"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

A Trainer that trains on DALI's batches, each rank on a shard of its own. Where DEVICE is
mixed they are decoded and augmented on its own GPU.

    arguments = TrainingArguments("out", per_device_train_batch_size=BATCH_SIZE)
    DaliTrainer(model, arguments, data="DIR").train()

Needs torch, transformers and nvidia-dali-cuda120.
"""

from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor
from transformers import Trainer

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["view_1", "view_2", "labels"]


@pipeline_def(enable_conditionals=True)
def simclr_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, labels = fn.readers.file(
        file_root=data,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    view_1 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 21,
    )
    mirror_1 = fn.random.coin_flip(probability=0.5, seed=seed + 22)
    view_1 = fn.flip(view_1, horizontal=mirror_1)
    with_jitter_1 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 23
    )
    brightness_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 24)
    contrast_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 25)
    saturation_1 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 26)
    hue_1 = fn.random.uniform(range=[-72, 72], seed=seed + 27)
    if with_jitter_1:
        view_1 = fn.color_twist(
            view_1,
            brightness=brightness_1,
            contrast=contrast_1,
            hue=hue_1,
            saturation=saturation_1,
        )
    with_gray_1 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 28)
    if with_gray_1:
        view_1 = fn.saturation(view_1, saturation=0)
    with_blur_1 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 29)
    sigma_1 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 30)
    if with_blur_1:
        view_1 = fn.gaussian_blur(view_1, window_size=23, sigma=sigma_1)
    view_2 = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed + 31,
    )
    mirror_2 = fn.random.coin_flip(probability=0.5, seed=seed + 32)
    view_2 = fn.flip(view_2, horizontal=mirror_2)
    with_jitter_2 = fn.random.coin_flip(
        probability=0.8, dtype=types.BOOL, seed=seed + 33
    )
    brightness_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 34)
    contrast_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 35)
    saturation_2 = fn.random.uniform(range=[0.2, 1.8], seed=seed + 36)
    hue_2 = fn.random.uniform(range=[-72, 72], seed=seed + 37)
    if with_jitter_2:
        view_2 = fn.color_twist(
            view_2,
            brightness=brightness_2,
            contrast=contrast_2,
            hue=hue_2,
            saturation=saturation_2,
        )
    with_gray_2 = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 38)
    if with_gray_2:
        view_2 = fn.saturation(view_2, saturation=0)
    with_blur_2 = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 39)
    sigma_2 = fn.random.uniform(range=[0.1, 2.0], seed=seed + 40)
    if with_blur_2:
        view_2 = fn.gaussian_blur(view_2, window_size=23, sigma=sigma_2)
    return view_1, view_2, labels


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
    pipe = simclr_pipeline(
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
    """Batches by the names of a model's arguments: ``view_1``, ``view_2``, ``labels``."""

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
            images = batch["view_1"]
            batch["view_1"] = images.permute(0, 3, 1, 2).float() / 255
            images = batch["view_2"]
            batch["view_2"] = images.permute(0, 3, 1, 2).float() / 255
            batch["labels"] = batch["labels"].squeeze(-1).long()
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
