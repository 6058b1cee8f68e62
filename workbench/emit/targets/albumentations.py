"""Albumentations: the graph in its transforms, for machines without DALI."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.common.source_text import lines_of
from workbench.emit.targets import Target
from workbench.emit.templates.transform_module import sample_lines, transform_module
from workbench.graph.resolved import ResolvedGraph
from workbench.sources.kinds.images.folder import LIST_IMAGES

_TEMPLATE = '''\
"""$title

The same in Albumentations' transforms, for machines without DALI. It draws from the
same ranges, not the same numbers.

    for $loop in make_loader($example):
        ...
$differences
Needs torch, Pillow (PIL) and albumentations, which brings cv2.
"""

$imports

$constants


$read_photo


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


def seed_transforms(seed: int) -> None:
    """Seed each transform with a sequence of its own."""
$names
    sequences = np.random.SeedSequence(seed).spawn(len(transforms))
    for each, sequence in zip(transforms, sequences, strict=True):
        state = int(sequence.generate_state(1, np.uint64)[0])
        each.set_random_state(np.random.default_rng(sequence), random.Random(state))


def seed_worker(worker: int) -> None:
    """Seed the transforms of a worker process; each epoch and worker has another seed."""
    seed_transforms(torch.initial_seed())


def make_loader(
    ${parameter}batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of $listed."""
    if not num_workers:
        seed_transforms(SEED)
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
    "import albumentations as A",
    "import numpy as np",
    "import torch",
    "from torch.utils.data import DataLoader, Dataset",
)


def emit_albumentations(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``dataset.py``."""
    module = transform_module(resolved, ALBUMENTATIONS, _IMPORTS)
    photo = "read_photo(path)"
    if module.shared:
        photo = f'transform(image={photo})["image"]'
    return {
        "dataset.py": module.fill(
            _TEMPLATE,
            listing=LIST_IMAGES,
            photo=photo,
            sample=sample_lines(module),
            names="\n".join(lines_of([*module.names], "transforms = ", indent="    ")),
        )
    }


TARGET = Target("the same in Albumentations' transforms, without DALI", emit_albumentations)
