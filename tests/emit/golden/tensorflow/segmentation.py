"""segmentation: Semantic segmentation as torchvision trains DeepLabV3 (arXiv
1706.05587): 480 px, masks follow.

Batches as a tf.data.Dataset.

Usage: python dataset.py --data COCO.json [--device cpu|mixed] [--batch-size N] [--epochs N]

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

import argparse
import json
import pathlib
import time
from collections.abc import Iterator
from math import ceil

import tensorflow as tf
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.tf import DALIDataset

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [480, 480]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "masks"]
DTYPES = (tf.float32, tf.int32)
SHAPES = ((3, 480, 480), (None, None, 1))


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    images = json.loads(file.read_text(encoding="utf-8"))["images"][:100]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / i["file_name"]).is_file() for i in images))
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
    # In step with the images: masks = follow_masks(masks, images)
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


def shard_size(samples: int, shard_id: int, num_shards: int) -> int:
    """Samples of one shard, as DALI's readers divide them."""
    begin = shard_id * samples // num_shards
    return (shard_id + 1) * samples // num_shards - begin


class Loader:
    """Batches of one shard as dictionaries of tensors: ``images``, ``masks``.

    One pass is one epoch: every sample once, the last batch as short as it
    comes.

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
            self._seen += self._batch_size
            yield batch
        self._shard = (self._shard + 1) % self._num_shards  # the reader does, too
        self._seen = 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
    parser.add_argument("--data", required=True, help="COCO annotations (.json)")
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
