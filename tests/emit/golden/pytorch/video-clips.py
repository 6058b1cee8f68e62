"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

A PyTorch loader, and a training loop to start from.

Usage: python loader.py --data DIR [--device cpu|mixed] [--epochs N] [--save FILE]
       torchrun --nproc-per-node 2 loader.py --data DIR    (each rank reads one shard)
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import torch
    import torch.nn.functional as F
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.data_node import DataNode
    from nvidia.dali.pipeline import Pipeline
    from nvidia.dali.plugin.base_iterator import LastBatchPolicy
    from nvidia.dali.plugin.pytorch import DALIGenericIterator
    from torch import Tensor, distributed, nn
    from torch.nn.parallel import DistributedDataParallel
except ImportError as error:
    raise ImportError(f"{error}. Needed: torch and nvidia-dali-cuda120.") from None

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [114.75]
STD = [57.375]
OUTPUTS = ["clips", "labels"]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without those that begin with a dot."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        return [path for path, _ in data], [label for _, label in data]
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    files: list[str] = []
    labels: list[int] = []
    for label, folder in enumerate(class_folders(data) or [""]):
        place = os.path.join(data, folder)
        names = sorted(name for name in os.listdir(place) if name.lower().endswith(suffixes))
        files += [os.path.join(place, name) for name in names if not name.startswith(".")]
        labels += [label] * (len(files) - len(labels))
    return files, labels


def find_videos(data: Any) -> dict[str, Any]:
    """Arguments of the video reader for a file, a folder, class folders or a list of files."""
    files, labels = files_of(data, VIDEOS)
    return {"filenames": files, "labels": labels}


def read_videos(device: str, **options: Any) -> Any:
    """Sequences, decoded on the CPU or on the GPU, and their labels."""
    side = "cpu" if device == "cpu" else "gpu"
    read: Any = fn.experimental.readers.video(device=side, **options)
    frames, labels = read
    return frames, labels if side == "cpu" else labels.cpu()


@pipeline_def
def video_clips_pipeline(
    data: str, device: str, base_seed: int, shard_id: int, num_shards: int
) -> tuple[DataNode, ...]:
    """One shard, padded at its end: no epoch reaches into the next one."""
    clips, labels = read_videos(
        **find_videos(data),
        sequence_length=8,
        stride=8,
        random_shuffle=True,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        device=device,
        seed=base_seed,
        name="reader",
    )
    side = fn.random.uniform(range=[256, 320], seed=base_seed + 1)
    clips = fn.resize(clips, antialias=False, resize_shorter=side)
    x = fn.random.uniform(range=[0, 1], seed=base_seed + 2)
    y = fn.random.uniform(range=[0, 1], seed=base_seed + 3)
    mirror = fn.random.coin_flip(probability=0.5, seed=base_seed + 4)
    clips = fn.crop_mirror_normalize(
        clips,
        dtype=types.FLOAT,
        output_layout="FCHW",
        crop=CROP,
        mean=MEAN,
        std=STD,
        crop_pos_x=x,
        crop_pos_y=y,
        mirror=mirror,
    )
    return clips, labels


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
    pipe = video_clips_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id if device == "mixed" else None,
        prefetch_queue_depth=2,
        enable_checkpointing=resumable,
        checkpoint=checkpoint,
    )
    pipe.build()
    return pipe


class Loader:
    """Batches as dictionaries of tensors: ``clips``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Labels are int64 of the shape [N].

    Nothing in the pipeline gives ``clips`` one size: photos of several
    sizes do not make a batch. Resize or crop them.
    """

    def __init__(
        self, pipe: Pipeline, last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL
    ) -> None:
        self._batches = DALIGenericIterator(
            [pipe],
            OUTPUTS,
            reader_name="reader",  # it knows how long an epoch is
            last_batch_policy=last_batch,
            auto_reset=True,
        )

    def __len__(self) -> int:
        return len(self._batches)

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        for (batch,) in self._batches:  # a list with one entry for each pipeline
            batch["labels"] = batch["labels"].squeeze(-1).long()
            yield batch

    def checkpoint(self) -> bytes:
        """Where the loader of a resumable pipeline stands now."""
        return self._batches.checkpoints()[0]


def loss_of(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy summed over the batch."""
    scores = model(batch["clips"].float().mean(dim=1))
    return F.cross_entropy(scores, batch["labels"], reduction="sum")


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
        nn.Conv2d(3, 32, kernel_size=7, stride=4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, args.classes),
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
        total, count = 0.0, 0
        for batch in loader:
            batch = {name: tensor.to(place) for name, tensor in batch.items()}
            loss = loss_of(model, batch)
            size = len(batch[OUTPUTS[0]])
            optimizer.zero_grad()
            (loss / max(size, 1)).backward()  # a last batch can be empty on some rank
            optimizer.step()
            total, count = total + loss.item(), count + size
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
    parser.add_argument(
        "--data", required=True, help="video (.avi, .webm, or a folder of these)"
    )
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--save", metavar="FILE", help="save epochs here, and resume")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
