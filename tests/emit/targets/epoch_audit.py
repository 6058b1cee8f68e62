"""Counts the samples of every epoch of exported loaders, as consumers of each kind read them.

``data`` holds lists ``N.txt`` of N files, whose labels are their numbers. A case is the number of
pipelines, of ranks and of samples, and a batch size.
"""

from __future__ import annotations

import itertools
import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.emit.targets.target_batches import load, torch_loader

Labels = list[list[int]]
"""The labels of each batch."""


def read(batch: dict[str, Any]) -> list[int]:
    """The labels of a batch; of a padded one those that count."""
    name = "labels" if "labels" in batch else next(iter(batch))
    labels = np.asarray(batch[name]).astype(int)
    found: list[int] = (labels[np.asarray(batch["valid"])] if "valid" in batch else labels).tolist()
    return found


def full(loader: Any) -> Iterator[Any]:
    yield from loader


def islice(loader: Any) -> Iterator[Any]:
    yield from itertools.islice(loader, len(loader))


def zipped(loader: Any) -> Iterator[Any]:
    for _, batch in zip(range(len(loader)), loader, strict=False):
        yield batch


def break_at_the_last(loader: Any) -> Iterator[Any]:
    for step, batch in enumerate(loader, 1):
        yield batch
        if step == len(loader):
            break


def left_early(loader: Any) -> Iterator[Any]:
    """An epoch in two parts."""
    yield from itertools.islice(loader, len(loader) // 2)
    yield from loader


STYLES = (full, islice, zipped, break_at_the_last, left_early)


def epochs_of(loaders: list[Any], samples: int, size: int) -> list[str]:
    """What is wrong in epochs of all ranks, one for each way to read them."""
    wrong = []
    for style in (*STYLES, full):
        expected = [len(loader) for loader in loaders]
        ranks = [[read(batch) for batch in style(loader)] for loader in loaders]
        labels = [label for batches in ranks for batch in batches for label in batch]
        if sorted(labels) != list(range(samples)):
            wrong.append(f"{style.__name__}: {len(labels)} samples, not each of {samples} once")
        if [len(batches) for batches in ranks] != expected:
            wrong.append(f"{style.__name__}: {list(map(len, ranks))} batches, len {expected}")
        if size > 1 and len(set(expected)) > 1:
            wrong.append(f"{style.__name__}: ranks have {expected} batches")
        if any(not batch for batches in ranks for batch in batches):
            wrong.append(f"{style.__name__}: an empty batch")
    return wrong


def two_iterators(loader: Any) -> list[str]:
    """A second iterator replaces the first one, which raises."""
    first = iter(loader)
    next(first)
    next(iter(loader))
    try:
        next(first)
    except RuntimeError:
        return []
    except StopIteration:
        return []  # its epoch was over
    return ["two iterators share an epoch"]


def of_pytorch(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    return [
        torch_loader(module, data, batch_size=size, num_threads=1, shard_id=rank, num_shards=ranks)
        for rank in range(ranks)
    ]


def of_tensorflow(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    return [
        module.Loader(module.build_pipeline(data, size, 1, shard_id=rank, num_shards=ranks))
        for rank in range(ranks)
    ]


def of_lightning(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    loaders = []
    for rank in range(ranks):
        made = module.PipelineData(data, batch_size=size, num_threads=1)
        place = SimpleNamespace(root_device=SimpleNamespace(index=None))
        made.trainer = SimpleNamespace(global_rank=rank, world_size=ranks, strategy=place)
        loaders.append(made.train_dataloader())
    return loaders


def of_paddle(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    """On the CPU: DALI's Paddle iterator requires a GPU only for a place and a stream.

    Both are replaced here, so that the exported loader runs on a machine without a GPU.
    """
    import paddle

    paddle.CUDAPlace = lambda device_id: paddle.CPUPlace()
    paddle.device.cuda.current_stream = lambda device_id: SimpleNamespace(cuda_stream=None)
    return [
        module.Loader(
            module.build_pipeline(data, size, 1, shard_id=rank, num_shards=ranks, device_id=None)
        )
        for rank in range(ranks)
    ]


def of_jax(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    """One loader for all of this process's devices."""
    return [module.Loader(data, batch_size=size, num_threads=1)]


class RayEpochs:
    """The epochs that an actor writes."""

    def __init__(self, module: ModuleType, data: str, ranks: int, size: int, rank: int) -> None:
        self.size, self.epoch = size, itertools.count()
        args = Namespace(
            data=data, batch_size=size, threads=1, device="cpu", seed=1, actors=ranks
        )  # fmt: skip
        self.shard = module.Shard(args, rank)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        samples = self.shard.samples(next(self.epoch))
        yield {"labels": [int(np.ravel(sample["labels"])[0]) for _, sample in samples]}


def of_ray(module: ModuleType, data: str, ranks: int, size: int) -> list[Any]:
    return [RayEpochs(module, data, ranks, size, rank) for rank in range(ranks)]


LOADERS: dict[str, Callable[[ModuleType, str, int, int], list[Any]]] = {
    "pytorch": of_pytorch,
    "lightning": of_lightning,
    "paddle": of_paddle,
    "tensorflow": of_tensorflow,
    "jax": of_jax,
    "ray": of_ray,
}
FILES = {"lightning": "datamodule.py", "tensorflow": "dataset.py", "ray": "augment.py"}


def audit(target: str, folder: str, data: str, cases: str) -> list[Any]:
    """The cases in which an epoch is wrong, with the reason."""
    wrong: list[Any] = []
    modules = {count: load(Path(folder, name, FILES.get(target, "loader.py")))
               for count, name in ((1, "one"), (2, "several"))
               if Path(folder, name).exists()}  # fmt: skip
    for pipelines, ranks, samples, size in json.loads(cases):
        module = modules[min(pipelines, 2)]
        if pipelines > 1:
            module.PIPELINES = pipelines
        loaders = LOADERS[target](module, f"{data}/{samples}.txt", ranks, size)
        found = epochs_of(loaders, samples, size)
        if target != "ray":
            found += two_iterators(loaders[0])
        wrong += [[[pipelines, ranks, samples, size], each] for each in found]
    return wrong


def resumed(folder: str, data: str, cases: str) -> list[Any]:
    """The cases in which a resumed loader differs from the one that was saved.

    Saved after every batch of an epoch, on every rank.
    """
    wrong: list[Any] = []
    modules = {1: load(Path(folder, "one", "loader.py")),
               2: load(Path(folder, "several", "loader.py"))}  # fmt: skip
    for pipelines, ranks, samples, size in json.loads(cases):
        module, file = modules[min(pipelines, 2)], f"{data}/{samples}.txt"
        if pipelines > 1:
            module.PIPELINES = pipelines
        for rank in range(ranks):
            options = {"batch_size": size, "num_threads": 1, "shard_id": rank,
                       "num_shards": ranks, "resumable": True}  # fmt: skip
            loader = torch_loader(module, file, **options)
            run: list[tuple[list[int], Any]] = [
                (read(batch), loader.checkpoint()) for _ in range(3) for batch in loader
            ]
            labels = [batch for batch, _ in run]
            for index in range(len(run) * 2 // 3):
                again = torch_loader(module, file, run[index][1], **options)
                rest: Labels = []
                while len(rest) < len(labels) - index - 1:
                    rest += [read(batch) for batch in again]
                if rest[: len(labels) - index - 1] != labels[index + 1 :]:
                    wrong.append([[pipelines, ranks, samples, size], rank, index])
    return wrong


def padded(folder: str, data: str, cases: str) -> list[Any]:
    """The cases in which Keras does not read each sample once, apart from padding."""
    wrong: list[Any] = []
    for _, ranks, samples, size in json.loads(cases):
        found: Counter[int] = Counter()
        counts = []
        for rank in range(ranks):
            module = load(Path(folder, "generator.py"))
            pipe = module.build_pipeline(
                f"{data}/{samples}.txt", size, 1, shard_id=rank, num_shards=ranks
            )
            counts.append(module.steps(pipe))
            for _, labels in itertools.islice(module.batches(pipe), counts[-1]):
                found.update(np.asarray(labels).tolist())
        if set(found) != set(range(samples)) or len(set(counts)) > 1:
            wrong.append([ranks, samples, size, counts, len(found)])
    return wrong


def trained(folder: str, data: str, cases: str) -> list[Any]:
    """The cases in which a ``Trainer`` of transformers does not train on each sample.

    All of its batches are full: the last sample of a shard may repeat, and nothing else.
    """
    from transformers import TrainingArguments

    wrong: list[Any] = []
    module = load(Path(folder, "one", "trainer.py"))
    for _, ranks, samples, size in json.loads(cases):
        seen: list[Labels] = []
        for rank in range(ranks):
            model = _remembering_model()
            options = TrainingArguments(
                f"{folder}/trained", per_device_train_batch_size=size, num_train_epochs=3,
                use_cpu=True, report_to=[], disable_tqdm=True, save_strategy="no",
            )  # fmt: skip
            shard = _of_rank(module.DaliTrainer, module, rank, ranks)
            shard(model, options, data=f"{data}/{samples}.txt").train()
            seen.append(model.seen)
        for epoch in range(3):
            counts = {len(batches) / 3 for batches in seen}
            per_epoch = len(seen[0]) // 3
            parts = [batches[epoch * per_epoch : (epoch + 1) * per_epoch] for batches in seen]
            found = [label for part in parts for batch in part for label in batch]
            once = [label for part in parts for label in _without_padding(part)]
            if len(counts) > 1 or sorted(once) != list(range(samples)):
                wrong.append([ranks, samples, size, epoch, found])
            if {len(batch) for part in parts for batch in part} != {size}:
                wrong.append([ranks, samples, size, epoch, "a short batch"])
    return wrong


def _without_padding(batches: Labels) -> list[int]:
    """The labels without the repetitions of the last one."""
    labels = [label for batch in batches for label in batch]
    while labels[-2:-1] == labels[-1:]:
        labels.pop()
    return labels


def _of_rank(trainer: Any, module: ModuleType, rank: int, ranks: int) -> Any:
    """The trainer, with a pipeline of this rank: without processes the rank is always 0."""
    whole = module.build_pipeline

    class OfRank(trainer):  # type: ignore[misc]
        def get_train_dataloader(self) -> Any:
            def build(*args: Any, **options: Any) -> Any:
                return whole(*args, **options | {"shard_id": rank, "num_shards": ranks})

            module.build_pipeline = build  # type: ignore[attr-defined]
            try:
                return super().get_train_dataloader()
            finally:
                module.build_pipeline = whole  # type: ignore[attr-defined]

    return OfRank


def _remembering_model() -> Any:
    """A PyTorch model that stores the labels that it is trained on."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)
            self.seen: Labels = []

        def forward(self, labels: Any, **inputs: Any) -> dict[str, Any]:
            self.seen.append(labels.tolist())
            return {"loss": self.layer(torch.ones(1, 1)).sum()}

    return Model()
