"""Albumentations: the graph in its transforms, for machines without DALI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.catalog.spec import Catalog
from workbench.emit.code import Code
from workbench.emit.targets import Target
from workbench.emit.targets._transforms import sample_lines, transform_module
from workbench.emit.transform_export.albumentations import ALBUMENTATIONS
from workbench.emit.transform_export.source_text import lines_of
from workbench.graph.model import Graph
from workbench.sources.folder import LIST_IMAGES

_TEMPLATE = '''\
"""$title

The same in Albumentations' transforms, for machines without DALI. It draws from the
same ranges, not the same numbers.

    for $loop in make_loader($example):
        ...
$differences
Needs albumentations, which brings cv2, and torch.
"""

$imports

$constants
$transforms


$listing

class Photos(Dataset):
    """Gives of each photo $listed; the folder has one for each class."""

    def __init__(self, folder: str) -> None:
        found = named_files(folder, IMAGES)
        self.samples = [(os.path.join(folder, name), label) for name, label in found]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        path, $label = self.samples[index]
        photo = $photo
        $sample


def seed_worker(worker: int) -> None:
    """Let each worker draw apart, and each transform: ``seed=`` gives all the same."""
    seed = torch.initial_seed()
$seeded


def make_loader(
    ${parameter}batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of $listed."""
    return DataLoader(
        Photos($data),
        batch_size,
        shuffle=$shuffle,
        num_workers=num_workers,
        worker_init_fn=seed_worker,
        generator=torch.Generator().manual_seed(SEED),
    )
'''
_IMPORTS = (
    "import random",
    "import os",
    "from typing import Any",
    "import albumentations as A",
    "import cv2",
    "import numpy as np",
    "import torch",
    "from torch.utils.data import DataLoader, Dataset",
)


def emit_albumentations(graph: Graph, catalog: Catalog) -> Mapping[str, Code]:
    """The module ``dataset.py``."""
    module = transform_module(graph, catalog, ALBUMENTATIONS, _IMPORTS)
    photo = "cv2.imread(path, cv2.IMREAD_COLOR_RGB)"
    if module.grey:
        photo = "cv2.imread(path, cv2.IMREAD_GRAYSCALE)[..., None]"
    if module.shared:
        photo = f'transform(image={photo})["image"]'
    return {
        "dataset.py": module.fill(
            _TEMPLATE,
            listing=LIST_IMAGES,
            photo=photo,
            sample=sample_lines(module),
            seeded=_seeded(module.names),
        )
    }


def _seeded(names: Sequence[str]) -> str:
    states = "np.random.default_rng(seed), random.Random(seed)"
    if len(names) == 1:
        return f"    {names[0]}.set_random_state({states})"
    head = lines_of([*names], "for each in ", ":", "    ")
    return "\n".join([*head, f"        each.set_random_state({states})"])


TARGET = Target("the same in Albumentations' transforms, without DALI", emit_albumentations)
