"""The pipelines next to this file, the import result of each, and how the originals are run."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import arrays_of

PIPELINES = Path(__file__).parent / "pipelines"

Outcome = Literal["exact", "partly"]
Data = Literal["photos", "coco", "arrays"]


@dataclass(frozen=True)
class Material:
    """One pipeline and what the import makes of it."""

    file: str
    make: str
    """The function or class that returns the pipeline, or the pipeline itself."""
    outcome: Outcome
    opaque: tuple[str, ...] = ()
    """Operators that come across as opaque nodes, sorted."""
    data: Data = "photos"
    variable: str = ""
    """The environment variable from which the script takes the folder; else from ``data_dir``."""
    gpu: bool = False
    live: bool = True
    """Whether the pipeline object tells as much as the script: not what automatic augmentation was
    called with."""

    @property
    def path(self) -> Path:
        return PIPELINES / self.file

    @property
    def name(self) -> str:
        return self.path.stem

    def arguments(self, folder: Path) -> Mapping[str, str]:
        return {} if self.variable else {"data_dir": str(folder)}


MATERIAL = (
    # file, what makes the pipeline, outcome, what is opaque
    Material("resnet_train.py", "resnet_train", "exact"),
    Material("resnet_train_mixed.py", "train_loader", "exact", gpu=True),
    Material("to_gpu.py", "cpu_then_gpu", "exact", gpu=True),
    Material("multi_crop.py", "multi_crop", "exact"),
    Material("mixup.py", "mixup", "exact"),
    Material("photometric.py", "photometric", "exact"),
    Material("slicing.py", "sliced", "exact"),
    Material("warp_matrix.py", "warped", "exact"),
    Material("pipeline_seed.py", "build", "exact"),
    Material("class_form.py", "HybridPipe", "exact"),
    Material("segmentation_mask.py", "segmentation", "exact", variable="SEGMENTATION_DATA"),
    Material("with_pipeline.py", "pipe", "exact", variable="WITH_PIPELINE_DATA"),
    Material("notebook.ipynb", "pipe", "exact", variable="NOTEBOOK_DATA"),
    Material("sequence_frames.py", "clip", "exact"),
    Material("detection_flip.py", "detection", "exact"),
    Material("detection_coco.py", "ssd", "exact", data="coco"),
    Material("conditionals.py", "sometimes", "exact"),
    Material("auto_augment.py", "auto_augmented", "partly", live=False),
    Material("external_source.py", "from_python", "exact", live=False),
    Material("python_function.py", "with_python", "exact"),
    Material("numpy_frames.py", "numpy_frames", "partly", data="arrays"),
    Material("reading_shapes.py", "upper_half", "partly", ("[...]",)),
)


def folders(photos: Path, root: Path) -> Mapping[Data, Path]:
    """What the pipelines read: the photos, some with boxes as COCO writes them, and arrays."""
    coco, arrays = root / "coco", root / "arrays"
    coco.mkdir()
    arrays.mkdir()
    images, boxes = [], []
    for number, path in enumerate(sorted(photos.rglob("*.jpg"))[:12]):
        shutil.copy(path, coco)
        with Image.open(path) as image:
            w, h = image.size
        images.append({"id": number, "file_name": path.name, "width": w, "height": h})
        box = {"bbox": [w * 0.1, h * 0.2, w * 0.5, h * 0.5], "area": w * h / 4, "iscrowd": 0}
        boxes.append({"id": number, "image_id": number, "category_id": 1 + number % 3, **box})
    names = [{"id": number, "name": f"class {number}"} for number in (1, 2, 3)]
    listed = {"images": images, "annotations": boxes, "categories": names}
    (coco / "annotations.json").write_text(json.dumps(listed))
    draw = np.random.default_rng(0)
    for number in range(4):
        frames = draw.integers(0, 255, (5, 40, 40, 3), dtype=np.uint8)
        np.save(arrays / f"{number}.npy", frames)
    return {"photos": photos, "coco": coco, "arrays": arrays}


def original(material: Material, folder: Path, *, build: bool = True) -> Any:
    """The pipeline as its own file makes it."""
    with pytest.MonkeyPatch.context() as patch:
        if material.variable:
            patch.setenv(material.variable, str(folder))
        patch.setattr(sys, "dont_write_bytecode", True)
        made = getattr(load(material.path), material.make)
        pipe = made(**material.arguments(folder)) if callable(made) else made
        if build:
            pipe.build()
    return pipe


def load(path: Path) -> ModuleType:
    if path.suffix == ".ipynb":
        return _load_notebook(path)
    spec = importlib.util.spec_from_file_location(f"original_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_notebook(path: Path) -> ModuleType:
    """The cells up to the pipeline, without what only IPython and Matplotlib understand."""
    cells = json.loads(path.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = [line for source in sources for line in source.splitlines()]
    last = next(n for n, line in enumerate(lines) if line.startswith("pipe = "))
    left_out = ("%", "!", "import matplotlib")
    text = "\n".join("" if line.startswith(left_out) else line for line in lines[: last + 1])
    module = ModuleType("original_notebook")
    # DALI looks the source of a pipeline's functions up by its file; a notebook's has none.
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def batches(pipe: Any, count: int) -> list[list[list[NDArray[Any]]]]:
    """Batch -> output -> samples."""
    return [[arrays_of(output) for output in pipe.run()] for _ in range(count)]
