"""Runs exported modules as their users would, in a process of its own for each framework.

python -m tests.emit.targets.drive COMMAND ... prints one line of JSON
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tests.emit.targets.epoch_audit import audit, padded, resumed, trained
from tests.emit.targets.target_batches import (
    TARGETS,
    Batch,
    digest,
    digests,
    load,
    run_ray,
    torch_loader,
)

BATCHES = 3


def start_ray() -> None:
    """Start Ray here: its agent must start within 15 s, which may fail on a busy machine."""
    import ray

    for left in (2, 1, 0):
        try:
            ray.init(num_cpus=4, include_dashboard=False)
        except Exception as error:
            if not left or "timed out" not in str(error):
                raise
            print(f"Ray did not start, once more: {error}", file=sys.stderr)
        else:
            return


def start(target: str) -> None:
    """What a user's program does once, before anything else."""
    if target == "dynamic":
        import nvidia.dali.experimental.dynamic as ndd

        ndd.set_num_threads(2)
    if target == "ray":
        import ray

        start_ray()
        ray.init = lambda address: None


def first(target: str, folder: str, data: str, outputs: str) -> dict[str, list[Batch]]:
    """For each exported recipe in the folder its first batches, of the data that it is given."""
    names: dict[str, list[str]] = json.loads(outputs)
    paths: dict[str, str] = json.loads(data)
    found: dict[str, list[Batch]] = {}
    for recipe, given in names.items():
        stream: Iterable[dict[str, Any]] = TARGETS[target](
            Path(folder, recipe), paths[recipe], given
        )
        found[recipe] = [digests(batch) for batch in islice(stream, BATCHES)]
    return found


def epochs(target: str, folder: str, data: str, count: str) -> list[list[list[Any]]]:
    """The samples of each shard in some epochs: epoch -> shard -> digests of images."""
    path, shards = Path(folder), 2
    if target == "jax":
        loader = load(path / "loader.py").Loader(data)
        return [_jax_epoch(loader, shards) for _ in range(int(count))]
    if target == "ray":
        module = load(path / "augment.py")
        written = run_ray(
            module, path / "out", data=data, actors=shards, threads=1, epochs=count,
            format="parquet",
        )  # fmt: skip
        found: list[list[list[Any]]] = [[[] for _ in range(shards)] for _ in range(int(count))]
        for key, sample in written.items():
            shard, epoch, _ = key.split("-")
            actor = int(shard) // getattr(module, "PIPELINES", 1)
            found[int(epoch)][actor].append(digest(sample["images"]))
        return found
    if target == "pytorch":
        module = load(path / "loader.py")
        loaders = [
            torch_loader(module, data, shard_id=shard, num_shards=shards) for shard in range(shards)
        ]
    else:
        module = load(path / "dataset.py")
        loaders = [
            module.Loader(module.build_pipeline(data, shard_id=shard, num_shards=shards))
            for shard in range(shards)
        ]
    return [
        [[digest(image) for batch in loader for image in batch["images"]] for loader in loaders]
        for _ in range(int(count))
    ]


def _jax_epoch(loader: Any, shards: int) -> list[list[Any]]:
    found: list[list[Any]] = [[] for _ in range(shards)]
    for batch in loader:
        assert len(batch["images"].sharding.device_set) == shards
        images, valid = np.asarray(batch["images"]), np.asarray(batch["valid"])
        each = len(valid) // shards
        for index in np.flatnonzero(valid):
            found[index // each].append(digest(images[index]))
    return found


def resume(folder: str, data: str) -> dict[str, list[Any]]:
    """Batches of loaders resumed from checkpoints, and those of the first loader there."""
    module = load(Path(folder, "loader.py"))

    def stream(checkpoint: Any) -> Iterator[tuple[Any, Any]]:
        loader = torch_loader(module, data, checkpoint, resumable=True)
        while True:
            for batch in loader:
                yield digests({n: t.numpy() for n, t in batch.items()}), loader.checkpoint()
            yield "end of an epoch", b""

    run = list(islice(stream(None), 24))
    found: dict[str, list[Any]] = {}
    for index in (0, 3, 6, 7, 12):
        _, checkpoint = run[index]
        after = run[index + 1 : index + 7]
        if after[0][0] == "end of an epoch":  # a new loader begins with the next one
            after = after[1:]
        again = list(islice(stream(checkpoint), len(after)))
        found[str(index)] = [[b for b, _ in after], [b for b, _ in again]]
    return found


def rank(folder: str, data: str, count: str) -> list[int]:
    """One rank of torchrun: the labels of its shard in some epochs, into a file of its own."""
    import torch

    number, shards = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpu = int(os.environ["LOCAL_RANK"])
    if torch.cuda.is_available():
        torch.cuda.set_device(gpu)
    module = load(Path(folder, "loader.py"))
    loader = module.Loader(
        module.build_pipeline(data, shard_id=number, num_shards=shards, device_id=gpu)
    )
    epochs: list[list[int]] = [[] for _ in range(int(count))]
    places = set()
    for epoch in epochs:
        for batch in loader:
            assert len(batch["images"]) == len(batch["labels"])
            epoch += batch["labels"].tolist()
            places.add(str(batch["images"].device))
    found = {"epochs": epochs, "places": sorted(places)}
    Path(folder, f"rank-{number}.json").write_text(json.dumps(found))
    return [len(epoch) for epoch in epochs]


COMMANDS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (start, first, epochs, resume, rank, audit, resumed, padded, trained)
}
if __name__ == "__main__":
    # Commands are separated by "+", so that a framework starts once.
    printed: list[Any] = []
    words = sys.argv[1:]
    while words:
        end = words.index("+") if "+" in words else len(words)
        printed.append(COMMANDS[words[0]](*words[1:end]))
        words = words[end + 1 :]
    print(json.dumps(printed))
