"""``wb.watch``: its predicted ceiling against the measured one, in loops with known limits.

    python -m benchmarks.watch_loops sleep     # 72 loops of sleeps, 5 minutes with 4 processes
    python -m benchmarks.watch_loops resnet    # ResNet-18 and -50 on a GPU, 3 minutes

``sleep``: data 5 to 80 ms, step 5 to 80 ms, prefetch 0 and 2. The measured ceiling is the time per
step of a second run with the loader, divided by that of a run on a list of one batch. ``resnet``:
synthetic batches from a ``DataLoader`` whose workers sleep, once slower and once faster than the
step; the same comparison on a GPU. Both print a line per loop, and how many are within 3 %.
``--json PATH`` writes the lines. ``overhead`` prints the time that watching adds to a step.
"""

from __future__ import annotations

import argparse
import json
import queue
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import workbench as wb

MILLISECONDS = (5, 10, 20, 30, 50, 80)
PREFETCH = (0, 2)
STEPS = 120
WITHIN = 0.03


def loader(seconds: float, prefetch: int, batches: int) -> Iterator[int]:
    if not prefetch:
        for number in range(batches):
            time.sleep(seconds)
            yield number
        return
    ready: queue.Queue[int] = queue.Queue(prefetch)

    def prepare() -> None:
        for number in range(batches):
            time.sleep(seconds)
            ready.put(number)

    threading.Thread(target=prepare, daemon=True).start()
    for _ in range(batches):
        yield ready.get()


def seconds_per_step(batches: Iterable[Any], step: Callable[[Any], None], skipped: int) -> float:
    """Time per step of a loop, without its first steps."""
    began, count = 0.0, 0
    for number, batch in enumerate(batches):
        if number == skipped:
            began = time.perf_counter()
        step(batch)
        count = number + 1 - skipped
    return (time.perf_counter() - began) / count


def sleeping(case: tuple[int, int, int]) -> dict[str, Any]:
    data, step, prefetch = case

    def body(_: Any) -> None:
        time.sleep(step / 1000)

    watched = wb.watch(loader(data / 1000, prefetch, STEPS), steps=STEPS, show=False)
    for batch in watched:
        body(batch)
    report = watched.report()
    loop = seconds_per_step(loader(data / 1000, prefetch, 90), body, 10)
    free = seconds_per_step(range(60), body, 10)
    return {"data_ms": data, "step_ms": step, "prefetch": prefetch, **row(report, loop, free)}


def row(report: wb.WatchReport, loop: float, free: float) -> dict[str, Any]:
    assert report.interval is not None
    measured = loop / free
    return {
        "predicted": round(report.interval.value, 4),
        "low": round(report.interval.low, 4),
        "high": round(report.interval.high, 4),
        "measured": round(measured, 4),
        "error": round(report.interval.value / measured - 1, 4),
        "limit": report.limit,
        "loop_ms": round(1000 * loop, 2),
        "free_ms": round(1000 * free, 2),
    }


def sleep_loops() -> list[dict[str, Any]]:
    cases = list(product(MILLISECONDS, MILLISECONDS, PREFETCH))
    with ProcessPoolExecutor(4) as pool:
        return list(pool.map(sleeping, cases))


class SlowImages:
    """A data set of random images that take a while to load."""

    def __init__(self, count: int, seconds: float) -> None:
        import torch

        self.count, self.seconds = count, seconds
        self.image = torch.rand(3, 224, 224)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[Any, int]:
        if number >= self.count:
            raise IndexError(number)
        time.sleep(self.seconds)
        return self.image, number % 1000


def resnet_loops(batch_size: int = 64, workers: int = 8) -> list[dict[str, Any]]:
    import torch
    import torchvision

    found = []
    for name in ("resnet18", "resnet50"):
        torch.manual_seed(0)
        model = getattr(torchvision.models, name)().cuda().train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        criterion = torch.nn.CrossEntropyLoss()

        def step(
            batch: Any, model: Any = model, optimizer: Any = optimizer, criterion: Any = criterion
        ) -> None:
            images, labels = (each.cuda(non_blocking=True) for each in batch)
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optimizer.step()

        def epoch(batches: Iterable[Any], step: Callable[[Any], None] = step) -> float:
            def synchronised() -> Iterator[Any]:  # both ends of what is timed
                for number, batch in enumerate(batches):
                    if number == 20:
                        torch.cuda.synchronize()
                    yield batch
                torch.cuda.synchronize()

            return seconds_per_step(synchronised(), step, 20)

        kept = torch.rand(batch_size, 3, 224, 224).pin_memory(), torch.arange(batch_size)
        free = epoch([kept] * 120)
        for kind, times in (("starved", 3.0), ("fed", 0.4)):
            each = times * free * workers / batch_size  # seconds per image and worker
            data = torch.utils.data.DataLoader(
                SlowImages(150 * batch_size, each),  # type: ignore[arg-type]
                batch_size,
                num_workers=workers,
                pin_memory=True,
                persistent_workers=True,
            )
            watched = wb.watch(data, steps=140, show=False)
            for batch in watched:
                step(batch)
            print(watched.report(), flush=True)
            line = row(watched.report(), epoch(data), epoch([kept] * 120))
            found.append({"model": name, "loader": kind, **line})
            del data, watched
    return found


def overhead() -> list[dict[str, Any]]:
    """CPU microseconds that watching adds to a step, while it is watched and afterwards."""
    import numpy as np

    batch = {"images": np.zeros((8, 3, 4, 4)), "labels": np.zeros(8)}
    count = 20_000

    def seconds(batches: Iterable[Any]) -> float:
        began = time.process_time()
        for _ in batches:
            pass
        return 1e6 * (time.process_time() - began) / count

    batches = [batch] * count
    bare = statistics.median(seconds(batches) for _ in range(5))
    watched = wb.watch(batches, steps=20 * count, ceiling=False, show=False)
    during = statistics.median(seconds(watched) for _ in range(5))
    finished = wb.watch(batches, steps=40, ceiling=False, show=False)
    for _ in finished:
        pass
    after = statistics.median(seconds(finished) for _ in range(5))
    return [{"watched_us": round(during - bare, 2), "finished_us": round(after - bare, 3)}]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("sleep", "resnet", "overhead"))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = {"sleep": sleep_loops, "resnet": resnet_loops, "overhead": overhead}[given.what]()
    for each in rows:
        print("  ".join(f"{name} {value}" for name, value in each.items()))
    if given.what != "overhead":
        errors = [abs(each["error"]) for each in rows]
        close = sum(error <= WITHIN for error in errors)
        print(f"{close} of {len(rows)} within {WITHIN:.0%}; the largest error is {max(errors):.1%}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
