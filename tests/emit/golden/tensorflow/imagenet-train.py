"""ResNet training on ImageNet: random crop, mirror, normalise.

Yields images (float32 CHW [3, 224, 224]) and labels (int32 [1]). With device='mixed'
labels stay on the CPU.

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first.

Batches as TensorFlow tensors, for Keras or a loop of your own:

    for batch in Loader(build_pipeline("DIR", shard_id=rank, num_shards=world_size)):
        ...

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

from collections.abc import Iterator
from math import ceil

import tensorflow as tf
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.plugin.tf import DALIDataset

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42  # operators get SEED + 1, + 2, ...: adding one does not change the others
SIZE = [224, 224]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]
DTYPES = (tf.float32, tf.int32)
SHAPES = ((3, 224, 224), (1,))


@pipeline_def
def imagenet_train_pipeline(
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
    images = fn.random_resized_crop(images, size=SIZE, seed=seed + 1)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 2)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels


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

    ``device`` is where images are decoded, cpu or mixed; ``device_id`` is the GPU.
    """
    pipe = imagenet_train_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # different random values on each rank
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
    )
    pipe.build()
    return pipe


def batch_sizes(meta: dict[str, int], epoch: int, batch_size: int) -> list[int]:
    """Return the number of samples in each batch of one epoch of a reader's shard.

    All ranks have the same number of steps, so none waits for another: if a shard would get an
    empty last batch, one sample of the previous batch moves there. With a batch size of 1 this is
    impossible: a shard with one sample less has one batch less.
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
    """Batches as dictionaries of tensors: ``images``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once; the last batch may be
    shorter. Every rank has the same number of batches, and none is empty: see ``batch_sizes``.
    An unfinished epoch continues with the next ``iter``. A loader has one iterator at a time: an
    older one raises RuntimeError. Labels have the shape [N].

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=loader.longest)``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(self, pipe: Pipeline) -> None:
        self._reader_meta = pipe.reader_meta("reader")
        self._batch_size = pipe.max_batch_size
        self._epoch, self._position = 0, 0  # and the next batch of it
        meta = self._reader_meta
        longest_shard = ceil(meta["epoch_size"] / meta["number_of_shards"])
        # The batches of an epoch of ``dataset``, which includes the padding.
        self.longest = ceil(longest_shard / self._batch_size)
        self._newest: object = None
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{pipe.device_id}"
        # DALIDataset builds its own pipeline; this one is only queried.
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=self._batch_size,
                num_threads=pipe.num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((self._batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self._stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def _sizes(self) -> list[int]:
        """Return the number of samples in each batch of the current epoch."""
        return batch_sizes(self._reader_meta, self._epoch, self._batch_size)

    def __len__(self) -> int:
        return len(self._sizes())

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        self._newest = current = object()
        if self._stream is None:  # a new one would start with the first epoch again
            self._stream = iter(self.dataset)
        sizes = self._sizes()
        for number in range(self._position, len(sizes)):
            if self._newest is not current:
                raise RuntimeError("A newer iterator replaced this one. Use that one.")
            tensors = next(self._stream)
            self._position = number + 1
            if self._position == len(sizes):  # here: a break may follow the yield
                for _ in range(len(sizes), self.longest):
                    next(self._stream)  # padding
                self._epoch, self._position = self._epoch + 1, 0
            left = sizes[number]  # the rest is padding
            batch = {name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}
            batch["labels"] = tf.squeeze(batch["labels"], -1)
            yield batch
