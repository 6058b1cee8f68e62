"""Loaders that a user of DALI writes, correct and with a fault planted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvidia.dali import Pipeline, fn, pipeline_def
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, DALIGenericIterator

Make = Callable[..., Any]


@pipeline_def(batch_size=6, num_threads=2, device_id=None, prefetch_queue_depth=1)
def crops(
    data: str,
    rank: int,
    ranks: int,
    same_views: bool = False,
    fixed: bool = False,
    reading: dict[str, bool] | None = None,
) -> Any:
    """Two views of each file, which are random crops, and labels."""
    options = {"random_shuffle": True, "pad_last_batch": True} | (reading or {})
    files, labels = fn.readers.file(
        name="reader", file_root=data, shard_id=rank, num_shards=ranks, **options
    )
    images = fn.resize(fn.decoders.image(files), size=(40, 48))
    if fixed:
        return images, images + 1, labels
    views = []
    for _ in range(2):
        places = [
            fn.random.uniform(range=(0, 1), **({"seed": seed + rank} if same_views else {}))
            for seed in (50, 60)
        ]
        views.append(fn.crop(images, crop=(20, 24), crop_pos_x=places[0], crop_pos_y=places[1]))
    return (*views, labels)


def generic(
    policy: LastBatchPolicy = LastBatchPolicy.PARTIAL,
    auto_reset: bool = True,
    same_seed: bool = False,
    same_views: bool = False,
    fixed: bool = False,
    **reading: bool,
) -> Make:
    def make_loader(data: str, rank: int, ranks: int) -> Any:
        seed = 7 if same_seed else 7 + rank
        pipe: Pipeline = crops(data, rank, ranks, same_views, fixed, reading, seed=seed)
        return DALIGenericIterator(
            [pipe], ["first", "second", "label"], reader_name="reader",
            last_batch_policy=policy, auto_reset=auto_reset,
        )  # fmt: skip

    return make_loader


def several(data: str, rank: int, ranks: int) -> Any:
    """Two pipelines in one process, as for two GPUs."""
    pipes = [crops(data, 2 * rank + part, 2 * ranks, seed=7 + 2 * rank + part) for part in range(2)]
    return DALIGenericIterator(
        pipes, ["first", "second", "label"], reader_name="reader", auto_reset=True,
        last_batch_policy=LastBatchPolicy.PARTIAL,
    )  # fmt: skip


@pipeline_def(batch_size=6, num_threads=2, device_id=None)
def flips(data: str, rank: int, ranks: int) -> Any:
    """Few random values: mirrored or not."""
    files, labels = fn.readers.file(
        name="reader", file_root=data, shard_id=rank, num_shards=ranks, random_shuffle=True,
        pad_last_batch=True,
    )  # fmt: skip
    images = fn.resize(fn.decoders.image(files), size=(20, 24))
    return fn.flip(images, horizontal=fn.random.coin_flip()), labels


def classification(data: str, rank: int, ranks: int) -> Any:
    return DALIClassificationIterator(
        flips(data, rank, ranks, seed=7 + rank), reader_name="reader", auto_reset=True,
        last_batch_policy=LastBatchPolicy.PARTIAL,
    )  # fmt: skip


CORRECT: dict[str, Make] = {
    "generic": generic(),
    "reset by the loop": generic(auto_reset=False),
    "shuffled after each epoch": generic(random_shuffle=False, shuffle_after_epoch=True),
    "several pipelines": several,
    "classification": classification,
    "evaluation": generic(random_shuffle=False, fixed=True),
}
FAULTS: dict[str, tuple[str, Make]] = {
    "padded last batch": ("padded_last_batch", generic(LastBatchPolicy.FILL)),
    "samples of the next epoch in the last batch": ("missed", generic(pad_last_batch=False)),
    "dropped last batch": ("dropped_remainder", generic(LastBatchPolicy.DROP)),
    "no shuffle": ("no_shuffle", generic(random_shuffle=False, stick_to_shard=True)),
    "fixed shards": ("shards_never_rotate", generic(stick_to_shard=True)),
    "one seed for all ranks": ("repeated_across_ranks", generic(same_seed=True)),
    "one seed for both views": ("equal_views", generic(same_views=True)),
}
