"""segmentation: Semantic segmentation as torchvision trains DeepLabV3 (arXiv
1706.05587): 480 px, masks follow.

Batches as TensorFlow tensors, for Keras or a loop of your own:

    for batch in Loader(build_pipeline("COCO.json", shard_id=rank, num_shards=world_size)):
        ...

Needs tensorflow and nvidia-dali-tf-plugin-cuda120.
"""

import json
import pathlib
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
    """Batches as dictionaries of tensors: ``images``, ``masks``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes.

    ``dataset`` is for Keras, and has no end: ``model.fit(..., steps_per_epoch=len(loader))``;
    its batches are tuples, and full: at the end of an epoch the last sample is repeated.
    """

    def __init__(self, pipe: Pipeline) -> None:
        meta = pipe.reader_meta("reader")
        self.samples, self.num_shards = meta["epoch_size"], meta["number_of_shards"]
        self.shard_id, self.batch_size = meta["shard_id"], pipe.max_batch_size
        self.seen = 0  # samples of this epoch
        place = "/cpu:0" if pipe.device_id is None else f"/gpu:{pipe.device_id}"
        # DALIDataset makes a pipeline of its own out of this one, which is only asked things.
        with tf.device(place):
            self.dataset = DALIDataset(
                pipe,
                batch_size=self.batch_size,
                num_threads=pipe.num_threads,
                device_id=pipe.device_id,
                output_shapes=tuple((self.batch_size, *shape) for shape in SHAPES),
                output_dtypes=DTYPES,
            )
        self.stream: Iterator[tuple[tf.Tensor, ...]] | None = None

    def __len__(self) -> int:
        return ceil(ceil(self.samples / self.num_shards) / self.batch_size)

    def __iter__(self) -> Iterator[dict[str, tf.Tensor]]:
        if self.stream is None:  # another one would begin with the first epoch again
            self.stream = iter(self.dataset)
        begin = self.shard_id * self.samples // self.num_shards
        end = (self.shard_id + 1) * self.samples // self.num_shards
        while self.seen < len(self) * self.batch_size:
            tensors = next(self.stream)
            left = max(0, end - begin - self.seen)  # the rest is padding
            batch = {name: t[:left] for name, t in zip(OUTPUTS, tensors, strict=True)}
            self.seen += self.batch_size
            yield batch
        self.shard_id = (self.shard_id + 1) % self.num_shards  # the reader does, too
        self.seen = 0
