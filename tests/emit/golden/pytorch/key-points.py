"""key-points: Key points on whole images as HigherHRNet trains (arXiv 1908.10357):
turned, scaled, 512 px.

Batches as PyTorch tensors:

    for batch in Loader(build_pipeline("COCO.json", shard_id=rank, num_shards=world_size)):
        ...

Needs torch and nvidia-dali-cuda120.
"""

import hashlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, math, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIRaggedIterator

BATCH_SIZE = 12
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "points", "visible", "mirrored"]
LISTS = ["points", "visible"]


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


def find_keypoints(data: str) -> dict[str, Any]:
    """Arguments of the COCO reader for annotations with key points as outlines."""
    found = os.stat(data)
    known = f"{os.path.abspath(data)} {found.st_mtime_ns} {found.st_size}"
    folder = os.path.join(tempfile.gettempdir(), f"key-points-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(f"{folder} is another user's: set TMPDIR")
    name = hashlib.sha256(known.encode()).hexdigest()[:32]
    path = os.path.join(folder, f"{name}.json")
    if not os.path.isfile(path):
        with open(data, encoding="utf-8") as file:
            document = json.load(file)
        for one in document["annotations"]:
            flat = one["keypoints"]
            points: list[float] = []
            for at in range(0, len(flat), 3):
                points += flat[at : at + 2] if flat[at + 2] else [-1e6, -1e6]
            one["segmentation"] = [points]
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as made:
            json.dump(document, made)
        os.replace(made.name, path)
    return {**find_annotations(data), "annotations_file": path}


@pipeline_def
def key_points_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    jpegs, _boxes, _labels, _polygons, points = fn.readers.coco(
        **find_keypoints(data),
        polygon_masks=True,
        skip_empty=True,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        seed=seed,
        name="reader",
    )
    images = fn.decoders.image(jpegs, output_type=types.RGB, device=device)
    shape = fn.peek_image_shape(jpegs)
    size = fn.cast(shape, dtype=types.FLOAT)
    sides = size[1::-1]
    rows = size[0]
    columns = size[1]
    short = math.min(rows, columns)
    zoom = fn.random.uniform(range=[0.75, 1.5], seed=seed + 1)
    window = short * zoom
    place = fn.random.uniform(range=[-0.2, 0.2], shape=[2], seed=seed + 2)
    shift = place * window
    half = sides * 0.5
    centre = half + shift
    back = -centre
    to_origin = fn.transforms.translation(offset=back)
    factor = 512.0 / window
    factors = fn.stack(factor, factor)
    scaled = fn.transforms.scale(to_origin, scale=factors)
    angle = fn.random.uniform(range=[-30, 30], seed=seed + 3)
    turned = fn.transforms.rotation(scaled, angle=angle)
    placed = fn.transforms.translation(turned, offset=[256.0, 256.0])
    images = fn.warp_affine(
        images, size=[512, 512], fill_value=0, inverse_map=False, matrix=placed
    )
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 4)
    normalize = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    # Points in step with normalize: points -> points, visible
    follow_points_at = fn.cat(points, types.Constant([0.0, 0.0], shape=[1, 2]))
    follow_points_at = fn.expand_dims(follow_points_at, axes=1)
    follow_points_seen = follow_points_at[:, 0, 0] == follow_points_at[:, 0, 0]
    follow_points_map = placed
    follow_points_at = fn.coord_transform(follow_points_at, MT=follow_points_map)
    follow_points_size_0 = fn.cast(images.shape(), dtype=types.FLOAT)
    follow_points_edge = fn.stack(follow_points_size_0[1], follow_points_size_0[0])
    follow_points_inside = follow_points_at >= 0.0
    follow_points_within = follow_points_at <= follow_points_edge
    follow_points_inside = follow_points_inside & follow_points_within
    follow_points_inside = fn.reductions.min(1.0 * follow_points_inside, axes=[1, 2])
    follow_points_seen = follow_points_seen & (follow_points_inside > 0.5)
    follow_points_size_1 = fn.cast(normalize.shape(), dtype=types.FLOAT)
    follow_points_map_x = fn.cast(
        0.5 * (follow_points_size_0[1] - follow_points_size_1[2]), dtype=types.INT32
    )
    follow_points_map_y = fn.cast(
        0.5 * (follow_points_size_0[0] - follow_points_size_1[1]), dtype=types.INT32
    )
    follow_points_map = fn.transforms.translation(
        offset=fn.stack(-1.0 * follow_points_map_x, -1.0 * follow_points_map_y)
    )
    follow_points_map = fn.transforms.scale(
        follow_points_map,
        scale=fn.stack(1.0 - 2.0 * mirror, 1.0),
        center=fn.stack(follow_points_size_1[2] / 2, follow_points_size_1[1] / 2),
    )
    follow_points_at = fn.coord_transform(follow_points_at, MT=follow_points_map)
    follow_points_edge = fn.stack(follow_points_size_1[2], follow_points_size_1[1])
    follow_points_inside = follow_points_at >= 0.0
    follow_points_within = follow_points_at <= follow_points_edge
    follow_points_inside = follow_points_inside & follow_points_within
    follow_points_inside = fn.reductions.min(1.0 * follow_points_inside, axes=[1, 2])
    follow_points_seen = follow_points_seen & (follow_points_inside > 0.5)
    points = fn.squeeze(follow_points_at[:-1], axes=1)
    visible = follow_points_seen[:-1]
    return normalize, points, visible, mirror


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
    pipe = key_points_pipeline(
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
    """Batches as dictionaries of tensors: the 4 of ``OUTPUTS``.

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
