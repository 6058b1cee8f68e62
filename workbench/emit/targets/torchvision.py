"""torchvision: the graph in its transforms v2, for machines without DALI."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template

from workbench.emit.core.code import Code
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.emit.targets import Target
from workbench.emit.templates.transform_module import sample_lines, transform_module
from workbench.graph.resolved import ResolvedGraph
from workbench.sources.kinds.images.folder import LIST_IMAGES

_TEMPLATE = '''\
"""$title

The same in torchvision's transforms, for machines without DALI. It draws from the same
ranges, not the same numbers, and images are (C, H, W).

    for $loop in make_loader($example):
        ...
$differences
Needs torch and torchvision, which brings Pillow (PIL).
"""

$imports

$constants


$read_photo


$transforms


${dataset}def make_loader(
    ${parameter}batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of $listed; $folder has a folder of photos for each class."""
    if not num_workers:  # worker processes are seeded by the loader
        torch.manual_seed(SEED)
    return DataLoader(
        $kind($data$of, loader=read_photo),
        batch_size,
        shuffle=$shuffle,
        num_workers=num_workers,
        generator=torch.Generator().manual_seed(SEED),
    )
'''
_IMPORTS = (
    "import torch",
    "from torch.utils.data import DataLoader",
    "from torchvision.datasets import ImageFolder",
    "from torchvision.transforms import v2",
)
_DATASET = '''\
class Photos(PhotoFolder):
    """Gives of each photo $listed."""

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        photo, $label = super().__getitem__(index)
        $sample


'''


_FOLDER = (
    LIST_IMAGES
    + '''

class PhotoFolder(ImageFolder):
    """The photos that DALI reads of a folder, with the same labels."""

    def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
        classes = class_folders(directory)
        return classes, {name: label for label, name in enumerate(classes)}

    @staticmethod
    def make_dataset(directory: str, *_: Any, **options: Any) -> list[tuple[str, int]]:
        found = named_files(directory, IMAGES)
        return [(os.path.join(directory, name), label) for name, label in found]


'''
)


def emit_torchvision(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The module ``dataset.py``."""
    module = transform_module(resolved, TORCHVISION, _IMPORTS)
    if module.sample == ["transform(photo)", "label"]:
        return {
            "dataset.py": module.fill(
                _TEMPLATE, dataset=_FOLDER, kind="PhotoFolder", of=", transform"
            )
        }
    dataset = _FOLDER + Template(_DATASET).substitute(module.fields, sample=sample_lines(module))
    shared = ", transform" if module.shared else ""
    return {"dataset.py": module.fill(_TEMPLATE, dataset=dataset, kind="Photos", of=shared)}


TARGET = Target("the same in torchvision's transforms, without DALI", emit_torchvision)
