"""JPEG engines and idle CPU cores together: ``cpu_share`` compared with other ways, interleaved.

    python -m benchmarks.cpu_share --json OUT/cpu_share.json   # a GPU with JPEG engines, 5 minutes

Each program runs for ``--seconds`` in each of ``--rounds`` rounds, in a new process: two pipelines
of two threads, ``cpu_share`` with several percents and threads, one of them with a CUDA stream for
each operator, and a third pipeline that decodes on the CPU and outputs every 15th batch. The last
one reads the data once more, so that it is no loader of epochs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.tune_live import WORKS, make_photos
from workbench.bench.measuring.config import config_of, with_config
from workbench.catalog import load_catalog
from workbench.emit.script import script_of
from workbench.graph.resolved import ResolvedGraph

SHARES = ((0, 2), (0, 6), (6, 4), (6, 6), (10, 6), (10, 9), (14, 6), (14, 9), (18, 9))
"""Percent decoded on the CPU, and threads of each of two pipelines."""
STREAMS = "2 pipelines of 6, cpu_share 10, a stream for each operator"
THIRD = "2 pipelines of 2, and a third one that decodes on the CPU with 9 threads"
TURNS = 15
_STREAMS = """
from nvidia.dali.pipeline import OperatorConcurrency as Concurrency, StreamPolicy
MORE = dict(stream_policy=StreamPolicy.PER_OPERATOR, concurrency=Concurrency.FULL)
"""
_THIRD = f"""
mixed, decoders = build_pipelines(sys.argv[1], device=device), fn.decoders
class OnCpu:
    def image(data, device, hw_decoder_load=None, **options):
        return decoders.image(data, device="cpu", **options).gpu()
fn.decoders, PIPELINES = OnCpu, 1
(third,) = build_pipelines(sys.argv[1], num_threads=9, device=device)
fn.decoders = decoders
def every():
    alternating, single = in_turns(mixed), in_turns([third])
    for number in range(1 << 60):
        yield next(alternating if number % {TURNS} else single)
batches = every()
"""
_RUN = """
import sys, time
device = sys.argv[3]
batches = in_turns(build_pipelines(sys.argv[1], device=device)) if not HAND else None
"""
_LOOP = """
ended = time.perf_counter() + 2
while time.perf_counter() < ended:
    next(batches)
count, began = 0, time.perf_counter()
while (passed := time.perf_counter() - began) < float(sys.argv[2]):
    next(batches)
    count += BATCH_SIZE
print(count / passed)
"""


def programs(work: str, device: str) -> dict[str, str]:
    """Programs that print imgs/s, by description."""
    graph, regime, _ = WORKS[work]
    resolved = ResolvedGraph(graph, load_catalog())
    usual = replace(config_of(graph, "mixed" if device == "mixed" else "cpu"), regime=regime)
    mixed = device == "mixed"
    found = {}
    for share, threads in SHARES:
        config = replace(
            usual,
            batch_size=128,
            prefetch=4,
            pipelines=2,
            threads=threads,
            hw_decoder_load=1.0 if mixed else None,
            dont_use_mmap=True,
            cpu_share=share if mixed else 0,
        )
        text = script_of(with_config(resolved, config).sound()).text
        text = text.partition("\n\ndef main()")[0]
        name = f"2 pipelines of {threads}" + f", cpu_share {share}" * bool(share)
        found[name] = f"{text}\nHAND = False{_RUN}{_LOOP}"
        if (share, threads) == (10, 6):
            streams = text.replace("num_threads=num_threads,", "num_threads=num_threads, **MORE,")
            found[STREAMS] = f"{streams}\n{_STREAMS}\nHAND = False{_RUN}{_LOOP}"
        if mixed and (share, threads) == (0, 2):
            found[THIRD] = f"{text}\nHAND = True{_RUN}{_THIRD}{_LOOP}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=["mixed", "cpu"], default="mixed")
    parser.add_argument("--work", choices=[*WORKS], nargs="*", default=["imagenet-train"])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=4096)
    parser.add_argument("--json")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        photos = str(Path(folder, "photos"))
        make_photos(photos, args.files)
        for work in args.work:
            rates = defaultdict[str, list[float]](list)
            for _ in range(args.rounds):
                for name, text in programs(work, args.device).items():
                    file = Path(folder, "program.py")
                    file.write_text(text)
                    command = [sys.executable, file, photos, str(args.seconds), args.device]
                    done = subprocess.run(command, capture_output=True, text=True, check=False)
                    if done.returncode:
                        print(f"{name}: {done.stderr[-300:]}", flush=True)
                    else:
                        rates[name].append(float(done.stdout.split()[-1]))
            results[work] = rates
            print(f"\n{work}, imgs/s, median of {args.rounds} rounds, lowest, highest")
            for name, found in rates.items():
                figures = statistics.median(found), min(found), max(found)
                print(f"{name:72}" + "".join(f"{each:10,.0f}" for each in figures), flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"when": time.time(), "imgs_per_s": results}))


if __name__ == "__main__":
    main()
