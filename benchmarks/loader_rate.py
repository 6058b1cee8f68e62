"""imgs/s of the exported PyTorch loader, second by second, at settings that are given.

    python -m benchmarks.loader_rate --pipelines 2 --threads 2 --seconds 60

Without ``--data`` of JPEGs as ``tune_live.py`` makes them, 4,096 that stand there sixteen times
each: so an epoch has only whole batches, for what a loader pads is decoded and not counted.

Of ``imagenet-train``, and of a crop that is turned, coloured and normalised (``heavy.py``): the
median over the seconds, and what the slowest is of it. Decoded images alone are of many sizes, of
which PyTorch's loader makes no batch: ``workbench bench --regime decode`` measures them.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.heavy import heavy
from benchmarks.tune_live import SIZE, image_size, make_photos
from workbench.bench.measuring.config import adopt_config, config_of
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipe

WARM_UP_SECONDS = 3.0
LINKS = 16
NARROWED = "os.sched_setaffinity(0, cores_without_interrupts())"


def program(graph: Graph, folder: str, every_core: bool = False) -> dict[str, Any]:
    """What the exported loader's file defines; on ``every_core`` it runs as the system has it."""
    path = Path(folder, "pipe.py")
    text = export(graph, "pytorch", load_catalog()).main.text
    assert not every_core or NARROWED in text, "a program of several pipelines names its cores"
    path.write_text(text.replace(NARROWED, "pass") if every_core else text)
    return runpy.run_path(str(path))


def rates(module: dict[str, Any], data: str, seconds: float) -> list[float]:
    """imgs/s of each second; whole epochs follow each other."""
    import torch

    build = module.get("build_pipelines") or module["build_pipeline"]
    loader = module["Loader"](build(data))
    stream = (len(batch["labels"]) for _ in iter(int, 1) for batch in loader)
    ended = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < ended:
        next(stream)
    found = []
    for _ in range(round(seconds)):
        samples, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < 1:
            samples += next(stream)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
            passed = time.perf_counter() - began
        found.append(samples / passed)
    return found


def linked_photos(folder: Path, count: int, size: tuple[int, int]) -> str:
    """Create a folder with this number of photos, each under sixteen names."""
    make_photos(str(folder), count, size)
    for photo in list(folder.rglob("*.jpg")):
        for link in range(1, LINKS):
            os.link(photo, photo.with_stem(f"{photo.stem}-{link:02}"))
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--size", type=image_size, default=SIZE, help="of the JPEGs: 1920x1280")
    parser.add_argument("--files", type=int, default=4096)
    parser.add_argument("--device", choices=["mixed", "cpu"], default="mixed")
    parser.add_argument("--pipelines", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--mapped", action="store_true", help="without dont_use_mmap")
    parser.add_argument("--every-core", action="store_true", help="also those that GPUs interrupt")
    parser.add_argument("--work", choices=["imagenet-train", "heavy", "both"], default="both")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--choice", help="JSON of tune_live.py: use the settings of its choice")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.choice:
        choice = json.loads(Path(args.choice).read_text())["choice"]
        for name in ("pipelines", "threads", "batch_size"):
            setattr(args, name, choice[name])
        args.depth, args.load = choice["prefetch"], choice["hw_decoder_load"] or 1.0
        args.mapped = not choice["dont_use_mmap"]
    with tempfile.TemporaryDirectory() as made:
        measure(args, args.data or linked_photos(Path(made), args.files, args.size))


def measure(args: argparse.Namespace, data: str) -> None:
    """Print and record the requested rates."""
    told: dict[str, list[float]] = {}
    graphs = {"imagenet-train": load_recipe("imagenet-train"), "heavy": heavy()}
    for name, graph in graphs.items():
        if args.work not in (name, "both"):
            continue
        config = replace(
            config_of(graph, args.device),
            batch_size=args.batch_size,
            threads=args.threads,
            pipelines=args.pipelines,
            prefetch=args.depth,
            hw_decoder_load=args.load if args.device == "mixed" else None,
            dont_use_mmap=None if args.mapped else True,
        )
        with tempfile.TemporaryDirectory() as folder:
            module = program(adopt_config(graph, config), folder, args.every_core)
            found = told[graph.name] = rates(module, data, args.seconds)
        median = statistics.median(found)
        slowest = min(found) / median
        print(f"{graph.name:28}{median:10,.0f}  slowest second {slowest:.2f}", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"settings": vars(args), "imgs_per_s": told}))


if __name__ == "__main__":
    main()
