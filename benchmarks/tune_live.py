"""The tuner live against a small grid and plain scripts of one pipeline, within a time budget.

    python -m benchmarks.tune_live --json OUT/tune_live.json   # a GPU, 230 s at most
    python -m benchmarks.tune_live --work decode --alone --budget 150         # without the grid
    python -m benchmarks.tune_live --budget 300 --long 60        # the choice for a minute at last
    python -m benchmarks.tune_live --device cpu --budget 120 --files 300        # without one

Needs DALI, NumPy, Pillow, msgspec, psutil and sortedcontainers; with nvidia-ml-py it also tells how
full the JPEG engines were. In this order: synthetic 500x375 JPEGs; the tuner (given 45 % of the
budget); ``plain.py`` with one pipeline, a number of threads each;
the grid, in random order, as far as the time goes; last the choice, the best of the grid and the
fastest setting of one pipeline in turns, whose ratios are what counts, and the choice alone for
``--long`` seconds, or for as long as is left, a minute at most.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.heavy import heavy
from workbench.bench.experiments.grid_experiment import SweepExperiment
from workbench.bench.experiments.tune import TuningExperiment, headroom_of
from workbench.bench.measuring.config import Config, Regime
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Measurement, long_run_text
from workbench.bench.measuring.measurement_config import MeasurementConfig, long_config
from workbench.bench.measuring.stats import paired_ratio
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import dump_report
from workbench.engine.resources.machine import usable_cores
from workbench.errors import CancelledError
from workbench.graph import Graph, load_recipe
from workbench.graph.model import Executor

SIZE = (500, 375)
QUALITY = 90
TUNER_SHARE, PATIENCE = 0.45, 1.25
"""Fraction of the budget, and the factor of that after which the tuner is stopped with its results
so far.
"""
GRID_CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=3, rounds=3, warm_up_rounds=1, budget=3.0, precision=0.05
)
LAST_CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=3, rounds=6, warm_up_rounds=1, budget=6.0
)
LAST_SECONDS, SETTING_SECONDS = 38.0, 9.0
"""Maximum seconds of the last comparison and of a setting of the grid on an H200."""


LEAST_LONG = 10.0
WORKS: dict[str, tuple[Graph, Regime, str]] = {
    "imagenet-train": (load_recipe("imagenet-train"), "pipeline", "train"),
    "crop-rotate-twist-normalise": (heavy(), "pipeline", "heavy"),
    "decode": (load_recipe("imagenet-train"), "decode", "decode"),
}
"""The graph, the measured part of it, and its name among the plain scripts."""


def image_size(text: str) -> tuple[int, int]:
    """``500x375``: width and height in pixels."""
    width, height = map(int, text.split("x"))
    return width, height


def write_photos(
    root: str, first: int, count: int, step: int, size: tuple[int, int] = SIZE
) -> None:
    """Write every ``step``-th of ``count`` JPEGs: coarse colour with fine noise, which compress
    like photos.
    """
    for number in range(first, count, step):
        chance = np.random.default_rng(number)
        coarse = Image.fromarray(chance.integers(0, 256, (12, 16, 3), np.uint8))
        image = np.asarray(coarse.resize(size, Image.Resampling.BICUBIC), np.int16)
        noise = chance.normal(0, 6, image.shape).astype(np.int16)
        folder = Path(root, f"class_{number % 10}")
        folder.mkdir(parents=True, exist_ok=True)
        photo = Image.fromarray(np.clip(image + noise, 0, 255).astype(np.uint8))
        photo.save(folder / f"{number:05}.jpg", quality=QUALITY)


def make_photos(root: str, count: int, size: tuple[int, int] = SIZE) -> None:
    """Write class folders with ``count`` photos, on all cores."""
    step = usable_cores()
    with ProcessPoolExecutor(step) as pool:
        for done in [pool.submit(write_photos, root, k, count, step, size) for k in range(step)]:
            done.result()


def grids(device: str, cores: int) -> tuple[Grid, Grid, tuple[int, ...]]:
    """The search space of the tuner, the small grid, and the threads of the plain scripts."""
    if device == "mixed":
        threads = tuple(sorted({2, 3, 6} & set(range(1, cores + 1)) or {1}))
        executors: tuple[Executor, ...] = ("dynamic", "static")
        loads, unmapped = (0.85, 1.0), (None, True)
        searched = Grid(threads, (64, 128, 256), (2, 4), loads, (1, 2, 3), executors, unmapped)
        small = Grid((2, 6), (128,), (4,), (1.0,), (1, 2), dont_use_mmap=unmapped)
        return searched, small, (2, 3, 6, cores)
    threads = tuple(sorted({1, cores, 2 * cores}))
    searched = Grid(threads, (16, 32, 64), (1, 2, 4), pipelines=(1, 2))
    return searched, Grid((cores, 2 * cores), (16, 64), (2,), pipelines=(1, 2)), threads


def plain_rate(
    what: str, data: str, device: str, threads: int, batch: int, seconds: float
) -> float:
    """imgs/s of the plain script with one pipeline."""
    command = [
        sys.executable, str(Path(__file__).with_name("plain.py")), "--what", what,
        "--data", data, "--device", device, "--threads", str(threads),
        "--batch-size", str(batch), "--seconds", str(seconds), "--load", "1.0",
    ]  # fmt: skip
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def tuned(run: TuningExperiment) -> Any:
    """The report of the tuner, stopped early if it far exceeds its time budget."""
    assert run.seconds is not None
    clock = threading.Timer(PATIENCE * run.seconds, run.cancel)
    clock.start()
    try:
        return run.run(lambda share, text: print(f"  {share:4.0%} {text}", file=sys.stderr))
    except CancelledError:
        report = run.interrupted_report()
        if report is None:
            raise
        return report
    finally:
        clock.cancel()


def row(name: str, rate: float, words: str = "") -> None:
    print(f"{name:44}{rate:10,.0f}  {words}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["mixed", "cpu"], default="mixed")
    parser.add_argument("--work", choices=[*WORKS], default="imagenet-train")
    parser.add_argument("--alone", action="store_true", help="without the grid")
    parser.add_argument("--budget", type=float, default=230.0, help="seconds")
    parser.add_argument("--long", type=float, default=0.0, help="seconds of the budget")
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--json")
    args = parser.parse_args()
    began = time.monotonic()
    cores, (graph, regime, what) = usable_cores(), WORKS[args.work]
    searched, small, plain_threads = grids(args.device, cores)
    with tempfile.TemporaryDirectory(prefix="jpegs_") as root:
        make_photos(root, args.files)
        print(f"{args.files} JPEGs, {time.monotonic() - began:.0f} s; {cores} cores", flush=True)

        def left() -> float:
            return float(args.budget - args.long) - (time.monotonic() - began)

        start = time.monotonic()
        given = TUNER_SHARE * (args.budget - args.long)
        run = TuningExperiment(graph, root, args.device, searched, regime=regime, seconds=given)
        report = tuned(run)
        tuner_seconds = time.monotonic() - start
        choice = best_measurement(report)

        batch = 128 if args.device == "mixed" else 64
        plain = {
            threads: plain_rate(what, root, args.device, threads, batch, 3.0)
            for threads in plain_threads
            if left() > LAST_SECONDS + 3 * SETTING_SECONDS
        }

        sweep = SweepExperiment(
            graph, root, args.device, small, measurement_config=GRID_CONFIG, regime=regime
        )
        machine = sweep.prepare().machine
        places, rows = list(small.places()), list[Measurement]()
        start = time.monotonic()
        for place in random.Random(0).sample(places, len(places)):
            if args.alone or left() < LAST_SECONDS + SETTING_SECONDS:
                break
            rows.append(sweep.measure_one(small.config(place, sweep.base)))
        each = (time.monotonic() - start) / max(1, len(rows))

        measured = sorted((one for one in rows if one.median), key=lambda one: -(one.median or 0))
        best = measured[0].config if measured else choice.config
        single = next((one.config for one in measured if one.config.pipelines == 1), None)
        usual = replace(choice.config, pipelines=1, threads=min(3, cores), hw_decoder_load=None)
        last = dict.fromkeys(
            [choice.config] if args.alone else [choice.config, best, single or usual]
        )
        final = sweep.measure(
            [sweep.entry(config, config.settings) for config in last],
            lambda share, text: None,
            LAST_CONFIG,
        )
        anew: dict[Config, Measurement] = {one.config: one for one in final}
        seconds = args.long or min(60.0, left() - SETTING_SECONDS)
        if seconds >= LEAST_LONG:
            alone = sweep.measure_one(choice.config, long_config(seconds))
            choice = alone if alone.rounds else choice
        by_second = [rate for one in choice.rounds for rate in one.by_second]

    print(f"\n{args.device}, {args.work}, {machine.gpu or machine.cpu}{'':10} imgs/s")
    for threads, rate in plain.items():
        row(f"plain script, batch {batch}, {threads} threads", rate)
    for one in measured:
        row(one.config.settings, one.median or 0.0, one.reason)
    told = report.extra.get("tune", {})
    row(
        f"tuner: {choice.config.settings}",
        choice.median or 0.0,
        choice.label + long_run_text(choice),
    )
    probes = told.get("probes", sum(one.rounds != () for one in report.measurements))
    print(f"tuner: {probes} probes of {len(searched)} settings, {tuner_seconds:.0f} s", end="")
    if rows:
        whole = each * len(searched)
        print(f", {tuner_seconds / whole:.0%} of the {whole:.0f} s that they would take", end="")
    ours = anew[choice.config]
    head = headroom_of(ours, cores)
    print(f"\ntuner: {head.text() if head else ours.reason}\nin turns:")
    for config, one in anew.items():
        if not (one.rounds and ours.rounds):
            row(config.settings, 0.0, one.reason)
            continue
        ratio = paired_ratio(ours.imgs_per_s, one.imgs_per_s)
        words = "the tuner's" if config == choice.config else f"tuner's / it {ratio.median:.2f}"
        row(config.settings, one.median or 0.0, words)
    top = max(plain.values(), default=0.0)
    if top:
        print(f"tuner's in turns / best plain script: {(ours.median or 0.0) / top:.2f}")
    print(f"{time.monotonic() - began:.0f} s in all")
    if args.json:
        told = {
            "plain": plain,
            "grid": [{**asdict(one.config), "imgs_per_s": one.imgs_per_s} for one in rows],
            "in_turns": [{**asdict(one.config), "imgs_per_s": one.imgs_per_s} for one in final],
            "choice": {**asdict(choice.config), "imgs_per_s_of_each_second": by_second},
            "jpeg_busy": ours.jpeg_busy,
            "seconds": {"tuner": tuner_seconds, "a setting": each},
            "tuner": json.loads(dump_report(report)),
        }
        Path(args.json).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
