"""segmentation: Semantic segmentation as torchvision trains DeepLabV3 (arXiv
1706.05587): 480 px, masks follow.

A PyTorch loader, and a training loop to start from.

Usage: python loader.py --data COCO.json [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py --data COCO.json    (each rank reads one shard)

Needs torch and nvidia-dali-cuda120.
"""

import argparse
import json
import os
import pathlib
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.pytorch import DALIGenericIterator
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [480, 480]
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "masks"]


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
    resumable: bool = False,
    checkpoint: bytes | None = None,
) -> Pipeline:
    """Return the built pipeline of one shard.

    ``device`` says where images are decoded, cpu or mixed; ``device_id`` on which GPU.
    A ``resumable`` one can tell where it stands: a ``checkpoint`` to go on from.
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
        enable_checkpointing=resumable or checkpoint is not None,
        checkpoint=checkpoint,
    )
    pipe.build()
    return pipe


class Loader:
    """Batches as dictionaries of tensors: ``images``, ``masks``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes.
    """

    def __init__(
        self, pipe: Pipeline, last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL
    ) -> None:
        self.batches = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="reader",  # it knows how long an epoch is
            last_batch_policy=last_batch,
            auto_reset=True,
        )

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for (batch,) in self.batches:  # a list with one entry for each pipeline
            yield batch

    def checkpoint(self) -> bytes:
        """Where the loader of a resumable pipeline stands now."""
        return self.batches.checkpoints()[0]


def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy, the mean over the pixels of an image, summed over the batch."""
    scores = model(batch["images"])
    classes = batch["masks"].squeeze(3).long()
    losses = F.cross_entropy(scores, classes, reduction="none")
    return losses.flatten(1).mean(dim=1).sum()


def train(args: argparse.Namespace) -> None:
    """A loop to start from, with a model to put yours in the place of."""
    rank = int(os.environ.get("RANK", "0"))  # torchrun sets these three
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    place = torch.device("cpu")
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    if world_size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")

    model: nn.Module = nn.Sequential(
        nn.Conv2d(3, 32, kernel_size=7, padding=3),
        nn.ReLU(),
        nn.Conv2d(32, args.classes, kernel_size=1),
    ).to(place)
    if world_size > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    # Every rank stands elsewhere in its own shard, so each has a file of its own.
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
    loader = Loader(pipe)
    for epoch in range(saved.get("epochs", 0), args.epochs):
        total, count = torch.zeros((), device=place), 0
        for batch in loader:
            batch = {name: tensor.to(place) for name, tensor in batch.items()}
            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / max(size, 1)).backward()  # a last batch can be empty on some rank
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
    parser.add_argument("--classes", type=int, default=81)
    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
