"""Checking files: headers per second, and decoding all compared with DALI, interleaved."""

from __future__ import annotations

import resource
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Table
from workbench.engine.file_checks.file_check_pool import check_each
from workbench.engine.resources.machine import usable_cores
from workbench.health import check_folder
from workbench.samples import write_samples
from workbench.sources import list_samples, open_dataset

FILES, DECODED, ROUNDS = 60_000, 3_000, 5


def copies(photos: Path, folder: Path, count: int) -> Path:
    """A flat folder with this number of files; each photo occurs many times, as a hard link."""
    sources = sorted(photos.glob("*/*.jpg"))
    firsts = [folder / f"{number:06}.jpg" for number in range(len(sources))]
    folder.mkdir()
    for number in range(count):
        path = folder / f"{number:06}.jpg"
        if number < len(sources):
            shutil.copy(sources[number], path)
        else:
            path.hardlink_to(firsts[number % len(sources)])
    return folder


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def decode_all(folder: Path) -> None:
    """Decode as in training: one DALI pipeline with one thread per core."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=64, num_threads=usable_cores(), device_id=None)
    def decode() -> Any:
        encoded, _ = fn.readers.file(
            file_root=str(folder), files=sorted(path.name for path in folder.iterdir())
        )
        return fn.decoders.image(encoded)

    pipe = decode()
    pipe.build()
    for _ in range(DECODED // 64):
        pipe.run()


def cpu_seconds(work: Callable[[], Any]) -> float:
    """CPU time of this process and of those that it ended, as ``work`` ends its workers."""

    def spent() -> float:
        whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
        return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, whose))

    before = spent()
    work()
    return spent() - before


@pytest.mark.perf
def test_headers(tmp_path: Path, table: Table) -> None:
    """By CPU time: the rate of otherwise idle cores."""
    write_samples(tmp_path / "photos")
    few, many = (copies(tmp_path / "photos", tmp_path / str(n), n) for n in (3_000, FILES))
    headers(many)
    rates = []
    for _ in range(ROUNDS):
        # The difference: starting the workers is the same for a folder of any size.
        spent = cpu_seconds(lambda: headers(many)) - cpu_seconds(lambda: headers(few))
        rates.append((FILES - 3_000) / spent * usable_cores())
    row = table.add("check: headers, warm", rates, "files/s", f"{usable_cores()} cores")
    assert row.median > 20_000


def headers(folder: Path) -> None:
    for _ in check_each(list_samples(open_dataset(str(folder))), full=False):
        pass


@pytest.mark.perf
def test_full_check_against_dali(tmp_path: Path, table: Table) -> None:
    write_samples(tmp_path / "photos")
    folder = copies(tmp_path / "photos", tmp_path / "many", DECODED)
    decode_all(folder)
    ratios = []
    for _ in range(ROUNDS):
        dali = seconds(lambda: decode_all(folder))
        full = seconds(lambda: check_folder(str(folder), full=True, again=True))
        ratios.append(full / dali)
    table.add("check --full, of DALI's own decoding", ratios, "times", f"{DECODED} photos")
    assert statistics.median(ratios) < 3
