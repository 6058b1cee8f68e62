"""Compare the predicted memory of recipes with the peak of a process, and write the record.

``python -m benchmarks.memory_record FOLDER RECORD`` makes three folders of photos (even sizes,
mixed sizes, one of 12,000 x 9,000 pixels among small ones). Each process decodes the 32 largest
images again and again, once with ``MALLOC_TRIM_THRESHOLD_=131072`` and once by default; takes about
15 minutes. ``python -m benchmarks.memory_record FOLDER RECORD mixed`` compares the memory of the
GPU, in four minutes on an otherwise unused GPU.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

import workbench as wb
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_setting
from workbench.graph.resolved import resolve
from workbench.health.memory import RETURN_FREED, estimate_memory
from workbench.sources import open_dataset

RECIPES = [
    *("imagenet-train", "imagenet-eval", "rotate-jitter", "cutout", "grid-mask", "aerial"),
    *("robustness", "medical-gray", "chest-xray", "simclr", "two-view", "test-time-views"),
]
BATCH = 32
RUN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pipe import build_pipeline
pipe = build_pipeline(sys.argv[2])
pipe.build()
for number in range(6):
    time.sleep(0.4 * (number > 2))  # first a fast consumer, then a slow one
    batch = pipe.run()
(line,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(int(line.split()[1]) * 1024)
"""
RUN_ON_GPU = """
import sys
sys.path.insert(0, sys.argv[1])
from nvidia.dali import Pipeline, fn
from pipe import build_pipeline
from workbench.engine.resources.gpu import Gpu, cuda_uuids

gpu = Gpu(cuda_uuids()[0])
first = Pipeline(1, 1, 0)  # creates CUDA's context
with first:
    first.set_outputs(fn.random.uniform(device="gpu"))
first.build()
first.run()
before = gpu.memory_used()
pipe = build_pipeline(sys.argv[2])
for _ in range(8):
    batch = pipe.run()
print(gpu.memory_used() - before)
"""


def make_folders(root: Path) -> list[Path]:
    """Write the largest 32 images of each folder of photos."""
    chance = np.random.default_rng(0)
    sides = [int(side) for side in chance.integers(1800, 2500, BATCH)]
    sizes = {
        "even": [(500, 375)] * BATCH,
        "mixed": [(side, int(side * chance.uniform(0.9, 1.6))) for side in sides],
        "giant": [(500, 375)] * (BATCH - 1) + [(12_000, 9_000)],
    }
    for name, each in sizes.items():
        (root / name).mkdir(parents=True, exist_ok=True)
        for number, (width, height) in enumerate(each):
            small = chance.integers(0, 256, (height // 16, width // 16, 3), dtype=np.uint8)
            image = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
            image.save(root / name / f"{number:02}.jpg", quality=85)
    return [root / name for name in sizes]


def run(code: str, place: Path, photos: Path, variables: Mapping[str, str] | None = None) -> int:
    """Return the bytes that a program prints which runs the exported pipeline."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(place), str(photos)],
        env=os.environ | (variables or {}),
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def measure(recipe: str, photos: Path, place: Path, device: str) -> dict[str, str | float]:
    """Return the predicted and the measured peaks of a recipe in MiB."""
    settings = {"batch_size": BATCH, "num_threads": 2, "device": device}
    graph = set_setting(wb.load_recipe(recipe), **settings)
    place.mkdir(parents=True, exist_ok=True)
    wb.export(graph, data=photos).write(place / "pipe.py")
    found = estimate_memory(resolve(graph, load_catalog()), open_dataset(photos))
    predicted = found.worst["cpu" if device == "cpu" else "gpu"]
    assert predicted is not None
    if device == "cpu":
        sizes = {
            "predicted_mib": predicted,
            "measured_mib": run(RUN, place, photos, dict([RETURN_FREED.split("=")])),
            "predicted_default_mib": predicted + found.retained,
            "measured_default_mib": run(RUN, place, photos),
        }
    else:
        used = run(RUN_ON_GPU, place, photos)
        sizes = {"predicted_mib": predicted, "measured_mib": used}
    row: dict[str, str | float] = {"recipe": recipe, "folder": photos.name}
    row |= {name: round(size / 2**20, 1) for name, size in sizes.items()}
    print(*row.values(), flush=True)
    return row


if __name__ == "__main__":
    work, path, device = (*sys.argv[1:], "cpu")[:3]
    folders = make_folders(Path(work))
    rows = [
        measure(recipe, photos, Path(work, recipe), device)
        for recipe in RECIPES
        for photos in folders
    ]
    command = f"python -m benchmarks.memory_record FOLDER RECORD {device}"
    record = {"command": command, "batch_size": BATCH, "rows": rows}
    Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
