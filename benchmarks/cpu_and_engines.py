"""JPEG engines and idle CPU cores together: pipelines that decode on the CPU next to mixed ones.

    python -m benchmarks.cpu_and_engines --json OUT/cpu_and_engines.json   # a GPU, 2 minutes

Each program runs for ``--seconds`` in each of ``--rounds`` rounds, in a new process. All pipelines
read equal shards in turn, except with ``third``: there, two mixed pipelines read all data, and a
third one reads all data once more and outputs every 15th batch, so that it is no loader of epochs.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.tune_live import WORKS, make_photos
from workbench.bench.measuring.config import config_of, with_config
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.graph.resolved import ResolvedGraph

TURNS = 15
CPU_THREADS = 9
WARM_UP_SECONDS = 1.5


@dataclass(frozen=True)
class Way:
    """Pipelines with mixed decoding, their threads, and pipelines that decode on the CPU."""

    mixed: int
    threads: int
    load: float = 1.0
    on_cpu: int = 0
    own_cores: bool = False
    """Whether pipelines on the CPU have cores of their own: from the seventh on."""
    third: bool = False


WAYS = {
    "2 mixed": Way(2, 2),
    "2 mixed, load 0.95, 4 threads": Way(2, 4, load=0.95),
    "2 mixed and a third on the CPU, own cores": Way(2, 2, own_cores=True, third=True),
    "14 mixed of 1 thread and 1 on the CPU, own cores": Way(14, 1, on_cpu=1, own_cores=True),
    "13 mixed of 1 thread and 1 on the CPU": Way(13, 1, on_cpu=1),
}


def program(work: str, device: str, way: Way) -> str:
    """The exported program of one way, without its command line."""
    graph, regime, _ = WORKS[work]
    config = replace(
        config_of(graph, "mixed" if device == "mixed" else "cpu"),
        regime=regime,
        batch_size=128,
        prefetch=4,
        pipelines=2,
        threads=way.threads,
        hw_decoder_load=way.load if device == "mixed" else None,
        dont_use_mmap=True,
    )
    resolved = with_config(ResolvedGraph(graph, load_catalog()), config).sound()
    text = script_of(resolved).text.partition("\n\ndef main()")[0]
    return text.replace("PIPELINES = 2", f"PIPELINES = {way.mixed + way.on_cpu}")


def batches(defined: dict[str, Any], photos: str, device: str, way: Way) -> Iterator[Any]:
    """Batches of all pipelines of one way."""
    build, in_turns = defined["build_pipelines"], defined["in_turns"]
    names = build.__globals__
    every = sorted(os.sched_getaffinity(0))
    fn, (pipeline,) = names["fn"], [name for name in names if name.endswith("_pipeline")]
    original, built = names[pipeline], count()

    class Decoders:
        on_cpu = False

        def image(self, data: Any, device: str, **options: Any) -> Any:
            if self.on_cpu and device == "mixed":
                options.pop("hw_decoder_load", None)
                return fn.decoders.image(data, device="cpu", **options).gpu()
            return fn.decoders.image(data, device=device, **options)

    class Functions:
        decoders = Decoders()

        def __getattr__(self, name: str) -> Any:
            return getattr(fn, name)

    def make(*values: Any, num_threads: int, **options: Any) -> Any:
        Decoders.on_cpu = next(built) >= way.mixed
        if way.own_cores:
            own = every[6:] if Decoders.on_cpu else every[:8]
            os.sched_setaffinity(0, own or every)
        threads = CPU_THREADS if Decoders.on_cpu else num_threads
        return original(*values, num_threads=threads, **options)

    names |= {"fn": Functions(), pipeline: make}
    mixed = in_turns(build(photos, device=device))
    if not way.third:
        return mixed
    names["PIPELINES"] = 1
    third = in_turns(build(photos, device=device))
    return (next(third if number % TURNS == 0 else mixed) for number in count(1))


def run(path: str, photos: str, seconds: float, device: str, name: str) -> None:
    """Print imgs/s and busy cores of a program."""
    defined = runpy.run_path(path)
    stream = batches(defined, photos, device, WAYS[name])
    ended = time.perf_counter() + WARM_UP_SECONDS
    while time.perf_counter() < ended:
        next(stream)
    images, cpu, began = 0, time.process_time(), time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        next(stream)
        images += defined["BATCH_SIZE"]
    print(images / passed, (time.process_time() - cpu) / passed, flush=True)


def rounds_of(args: argparse.Namespace, folder: str) -> Mapping[str, list[list[float]]]:
    """imgs/s and busy cores by way, in rounds of alternating order."""
    found: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    for number in range(args.rounds):
        for name in list(WAYS)[:: 1 if number % 2 == 0 else -1]:
            path = Path(folder, "program.py")
            path.write_text(program(args.work, args.device, WAYS[name]))
            values = [path, args.photos, str(args.seconds), args.device, name]
            command = [sys.executable, "-m", "benchmarks.cpu_and_engines", "--run", *values]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: {done.stderr[-300:]}", flush=True)
                continue
            found[name].append([float(word) for word in done.stdout.split()[-2:]])
            print(f"{name:52}{found[name][-1][0]:10,.0f}", flush=True)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--run"]:
        path, photos, seconds, device, name = sys.argv[2:]
        run(path, photos, float(seconds), device, name)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["mixed", "cpu"], default="mixed")
    parser.add_argument("--work", choices=[*WORKS], default="imagenet-train")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--photos")
    parser.add_argument("--json")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not args.photos:
            args.photos = str(Path(folder, "photos"))
            make_photos(args.photos, 4096)
        found = rounds_of(args, folder)
    print(f"\n{args.work}: imgs/s, median of {args.rounds} rounds, lowest, highest, busy cores")
    for name, rows in found.items():
        if rows:
            rates, cores = zip(*rows, strict=True)
            figures = statistics.median(rates), min(rates), max(rates)
            print(f"{name:52}" + "".join(f"{each:10,.0f}" for each in figures), end="")
            print(f"{statistics.median(cores):6.1f}")
    if args.json:
        told = {name: getattr(args, name) for name in ("work", "device", "seconds", "rounds")}
        columns = ["imgs_per_s", "busy_cores"]
        record = {"when": time.time(), "settings": told, "columns": columns, "rows": found}
        Path(args.json).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
