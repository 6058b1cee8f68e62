"""The labels that exported programs output in two epochs, read as users of each target read them.

Run as a program: a target and paths of its programs; prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.emit.targets.drive import start
from tests.emit.targets.epoch_audit import read
from tests.emit.targets.target_batches import (
    load,
    notebook_pipeline,
    run_ray,
    stand_in_for_transformers,
)

EPOCHS = 2


def of_loader(loader: Any) -> list[list[int]]:
    return [[label for batch in loader for label in read(batch)] for _ in range(EPOCHS)]


def script(module: ModuleType) -> list[list[int]]:
    """Batches of one sample, so that an epoch ends with a batch."""
    pipe = module.build_pipeline(batch_size=1)
    count = pipe.epoch_size("reader")
    return [[int(pipe.run()[1].as_array().item()) for _ in range(count)] for _ in range(EPOCHS)]


def pytorch(module: ModuleType) -> list[list[int]]:
    return of_loader(module.Loader(module.build_pipeline()))


def tensorflow(module: ModuleType) -> list[list[int]]:
    loader = module.Loader(module.build_pipeline())
    numbers = ({"labels": batch["labels"].numpy()} for _ in range(EPOCHS) for batch in loader)
    labels = [label for batch in numbers for label in read(batch)]
    half = len(labels) // EPOCHS
    return [labels[:half], labels[half:]]


def lightning(module: ModuleType) -> list[list[int]]:
    data = module.PipelineData()
    place = SimpleNamespace(root_device=SimpleNamespace(index=None))
    data.trainer = SimpleNamespace(global_rank=0, world_size=1, strategy=place)
    return of_loader(data.train_dataloader())


def jax(module: ModuleType) -> list[list[int]]:
    return of_loader(module.Loader())


def dynamic(module: ModuleType) -> list[list[int]]:
    """Batches without end, of one sample: as many as the list has lines, for each epoch."""
    batches: Iterator[Any] = module.batches(batch_size=1)
    count = len(Path(module.GOOD_DATA).read_bytes().splitlines())
    return [
        [int(np.array(labels.tensors[0].cpu()).item()) for _, labels in islice(batches, count)]
        for _ in range(EPOCHS)
    ]


def keras(module: ModuleType) -> list[list[int]]:
    """Batches without end, of one sample."""
    pipe = module.build_pipeline(batch_size=1)
    count, batches = pipe.epoch_size("reader"), module.batches(pipe)
    return [
        [int(np.asarray(labels).item()) for _, labels in islice(batches, count)]
        for _ in range(EPOCHS)
    ]


def ray(module: ModuleType) -> list[list[int]]:
    out = Path(module.__file__ or "").parent / "out"
    written = run_ray(module, out, actors=1, threads=1, epochs=EPOCHS)
    epochs: list[list[int]] = [[] for _ in range(EPOCHS)]
    for key, sample in written.items():
        epochs[int(key.split("-")[1])].append(int(sample["labels"]))
    return epochs


TARGETS: dict[str, Callable[[Any], list[list[int]]]] = {
    **{f.__name__: f for f in (script, pytorch, tensorflow, lightning, jax, dynamic, keras, ray)},
    "huggingface": pytorch,
    "notebook": script,
}


def loaded(target: str, program: Path) -> Any:
    """The program's module; of a notebook, which runs in its own folder, what a script has."""
    if target == "notebook":
        os.chdir(program.parent)
        return SimpleNamespace(
            build_pipeline=lambda batch_size: notebook_pipeline(
                program, "BATCH_SIZE = 8", f"BATCH_SIZE = {batch_size}"
            )
        )
    if target == "huggingface":
        stand_in_for_transformers()
    return load(program)


if __name__ == "__main__":
    target, *programs = sys.argv[1:]
    start(target)
    print(
        json.dumps([TARGETS[target](loaded(target, Path(each))) for each in programs]), flush=True
    )
    # DALI's dynamic mode aborts at the end of a process that has read with 20 readers.
    os._exit(0)
