"""video-clips: Video clips as SlowFast trains Slow 8x8 (arXiv 1812.03982): short side
256 to 320, crop 224.

Batches as PaddlePaddle tensors. DALI's Paddle iterator asks for a GPU, also where images
are decoded on the CPU.

Usage: python loader.py --data DIR [--device cpu|mixed] [--batch-size N] [--epochs N]
       python -m paddle.distributed.launch loader.py --data DIR    (one shard to a GPU)

Needs paddlepaddle-gpu and nvidia-dali-cuda120.
"""

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

import paddle
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.data_node import DataNode
from nvidia.dali.pipeline import Pipeline
from nvidia.dali.plugin.base_iterator import LastBatchPolicy
from nvidia.dali.plugin.paddle import DALIGenericIterator
from paddle import Tensor

BATCH_SIZE = 8
NUM_THREADS = 4
DEVICE = "cpu"
SEED = 42
CROP = [224, 224]
MEAN = [0.45 * 255]
STD = [0.225 * 255]
OUTPUTS = ["clips", "labels"]


VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to the system or to a tool, by its name: it is no data."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a folder; a link in a circle is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """The files of class folders, or of a flat folder: the path inside ``data``, and the label."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


def files_of(data: Any, suffixes: tuple[str, ...]) -> tuple[list[str], list[int]]:
    """The files and their labels: of class folders, a flat folder, a file, a list or pairs."""
    if not isinstance(data, str):
        labels = [label for _, label in data]
        if any(isinstance(label, str) for label in labels):
            numbers = {name: at for at, name in enumerate(sorted(set(map(str, labels))))}
            labels = [numbers[str(label)] for label in labels]
        return [path for path, _ in data], labels
    if os.path.isfile(data) and data.lower().endswith(suffixes):
        return [data], [0]
    if os.path.isfile(data):
        with open(data, encoding="utf-8", errors="surrogateescape") as lines:
            rows = [line.strip().rsplit(maxsplit=1) for line in lines if line.strip()]
        root = os.path.dirname(os.path.abspath(data))
        return [os.path.join(root, path) for path, _ in rows], [int(label) for _, label in rows]
    found = named_files(data, suffixes)
    return [os.path.join(data, name) for name, _ in found], [label for _, label in found]


def find_videos(data: Any) -> dict[str, Any]:
    """Arguments of the video reader for a file, a folder, class folders or a list of files."""
    files, labels = files_of(data, VIDEOS)
    return {"filenames": files, "labels": labels}


def read_videos(device: str, **options: Any) -> Any:
    """Sequences, decoded on the CPU (colours always as BT.601) or on the GPU, and their labels."""
    side = "cpu" if device == "cpu" else "gpu"
    read: Any = fn.experimental.readers.video(device=side, **options)
    frames, labels = read
    return frames, labels if side == "cpu" else labels.cpu()


@pipeline_def
def video_clips_pipeline(
    data: str, device: str, seed: int, shard_id: int, num_shards: int
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
        seed=seed,
        name="reader",
    )
    side = fn.random.uniform(range=[256, 320], seed=seed + 1)
    clips = fn.resize(clips, antialias=False, resize_shorter=side)
    x = fn.random.uniform(range=[0, 1], seed=seed + 2)
    y = fn.random.uniform(range=[0, 1], seed=seed + 3)
    mirror = fn.random.coin_flip(probability=0.5, seed=seed + 4)
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
    With ``resumable`` the loader can save its state; ``checkpoint`` resumes from a saved one.
    """
    pipe = video_clips_pipeline(
        data,
        device,
        seed + 100_000 * shard_id,  # shards draw apart
        shard_id,
        num_shards,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=device_id,
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
    """Batches as dictionaries of tensors: ``clips``, ``labels``.

    One pass is one epoch of the pipeline's shard: every sample once, the last batch as short
    as it comes. Every rank has the same number of batches, and none is empty: see
    ``batch_sizes``. ``last_batch`` can repeat the last sample (FILL) or drop a short batch
    (DROP) instead.
    An epoch that is left early continues with the next ``iter``, or is skipped with
    ``restart=True``. One loader has one iterator at a time: the older one raises RuntimeError.
    Labels are int64 of the shape [N].
    """

    def __init__(
        self,
        pipe: Pipeline,
        last_batch: LastBatchPolicy = LastBatchPolicy.PARTIAL,
        restart: bool = False,
    ) -> None:
        self.partial, self.restart = last_batch == LastBatchPolicy.PARTIAL, restart
        self.meta, self.batch_size = pipe.reader_meta("reader"), pipe.max_batch_size
        self.batches = DALIGenericIterator(
            [pipe],
            OUTPUTS,
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

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
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
            batch = {n: paddle.to_tensor(t) for n, t in batch.items()}
            batch["labels"] = batch["labels"].squeeze(-1).astype("int64")
            yield {name: values[: sizes[number]] for name, values in batch.items()}

    def checkpoint(self) -> bytes:
        """Return the state of the loader of a resumable pipeline."""
        return self.batches.checkpoints()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Read the batches and print imgs/s.")
    parser.add_argument(
        "--data", required=True, help="video (.avi, .webm, or a folder of these)"
    )
    parser.add_argument("--device", choices=["cpu", "mixed"], default=DEVICE)
    parser.add_argument("--batch-size", type=int, default=BATCH_SIZE, help="per rank")
    parser.add_argument("--threads", type=int, default=NUM_THREADS, help="per rank")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))  # the launcher sets it
    pipe = build_pipeline(
        args.data,
        args.batch_size,
        args.threads,
        args.device,
        shard_id=rank,
        num_shards=int(os.environ.get("PADDLE_TRAINERS_NUM", "1")),
        device_id=int(os.environ.get("PADDLE_LOCAL_RANK", "0")),
    )
    loader = Loader(pipe)
    for epoch in range(args.epochs):
        start = time.perf_counter()
        samples = sum(batch[OUTPUTS[0]].shape[0] for batch in loader)
        seconds = time.perf_counter() - start
        speed = f"{samples / seconds:.0f} imgs/s"
        print(f"rank {rank}, epoch {epoch}: {samples} samples, {speed}")


if __name__ == "__main__":
    main()
