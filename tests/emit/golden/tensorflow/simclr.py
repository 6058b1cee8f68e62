"""simclr: SimCLR's two views (arXiv 2002.05709): crop, flip, jitter 0.8, grey 0.2, blur
0.5.

Batches as a tf.data.Dataset.

Usage: python dataset.py --data DIR [--device cpu|mixed] [--batch-size N] [--epochs N]

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

import argparse
import time
from collections.abc import Iterator
from math import ceil

import tensorflow as tf
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.tf import DALIDataset

BATCH_SIZE = 64
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
SIZE = [224, 224]
OUTPUTS = ["view_1", "view_2", "labels"]
DTYPES = (tf.uint8, tf.uint8, tf.int32)
SHAPES = ((224, 224, 3), (224, 224, 3), (1,))


def augment(images: DataNode, seed: int) -> DataNode:
    images = fn.random_resized_crop(
        images,
        size=SIZE,
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
        seed=seed,
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 1)
    images = fn.flip(images, horizontal=mirror)
    with_jitter = fn.random.coin_flip(probability=0.8, dtype=types.BOOL, seed=seed + 2)
    brightness = fn.random.uniform(range=[0.2, 1.8], seed=seed + 3)
    contrast = fn.random.uniform(range=[0.2, 1.8], seed=seed + 4)
    saturation = fn.random.uniform(range=[0.2, 1.8], seed=seed + 5)
    hue = fn.random.uniform(range=[-72, 72], seed=seed + 6)
    if with_jitter:
        images = fn.color_twist(
            images,
            brightness=brightness,
            contrast=contrast,
            hue=hue,
            saturation=saturation,
        )
    with_gray = fn.random.coin_flip(probability=0.2, dtype=types.BOOL, seed=seed + 7)
    if with_gray:
        images = fn.saturation(images, saturation=0)
    with_blur = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 8)
    sigma = fn.random.uniform(range=[0.1, 2.0], seed=seed + 9)
    if with_blur:
        images = fn.gaussian_blur(images, window_size=23, sigma=sigma)
    return images


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
    view_1 = augment(images, seed + 21)
    view_2 = augment(images, seed + 31)
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


def shard_size(samples: int, shard_id: int, num_shards: int) -> int:
    """Samples of one shard, as DALI's readers divide them."""
    begin = shard_id * samples // num_shards
    return (shard_id + 1) * samples // num_shards - begin


class Loader:
    """Batches of one shard as dictionaries of tensors: ``view_1``, ``view_2``, ``labels``.

    One pass is one epoch: every sample once, the last batch as short as it
    comes.
    Labels have the shape [N].

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=len(loader))``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(
        self,
        data: str,
        batch_size: int = BATCH_SIZE,
        num_threads: int = NUM_THREADS,
        device: str = DEVICE,
        seed: int = SEED,
        shard_id: int = 0,
        num_shards: int = 1,
        device_id: int = 0,
    ) -> None:
        pipe = build_pipeline(
            data, batch_size, num_threads, device, seed, shard_id, num_shards, device_id
        )
        # DALIDataset makes a pipeline of its own out of this one, which is only asked things.
        self._samples = pipe.reader_meta("reader")["epoch_size"]
        self._shard, self._num_shards = shard_id, num_shards
        self._batch_size, self._seen = batch_size, 0  # samples in this epoch
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{device_id}"
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=batch_size,
                num_threads=num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self._stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def __len__(self) -> int:
        largest = ceil(self._samples / self._num_shards)
        return ceil(largest / self._batch_size)

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        if self._stream is None:  # another one would begin with the first epoch again
            self._stream = iter(self.dataset)
        last = shard_size(self._samples, self._shard, self._num_shards)
        while self._seen < len(self) * self._batch_size:
            tensors = next(self._stream)
            size = max(0, min(last - self._seen, self._batch_size))
            batch = {name: t[:size] for name, t in zip(OUTPUTS, tensors, strict=True)}
            batch["labels"] = tf.squeeze(batch["labels"], -1)
            self._seen += self._batch_size
            yield batch
        self._shard = (self._shard + 1) % self._num_shards  # the reader does, too
        self._seen = 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
    parser.add_argument(
        "--data", required=True, help="folder with a folder of images for each class"
    )
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE)
    parser.add_argument("--threads", type=int, default=NUM_THREADS)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    loader = Loader(args.data, args.batch_size, args.threads, args.device)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(len(batch[OUTPUTS[0]]) for batch in loader)
        seconds = time.perf_counter() - start
        print(f"epoch {epoch}: {samples} samples, {samples / seconds:.0f} imgs/s")


if __name__ == "__main__":
    main()
