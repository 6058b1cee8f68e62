"""Thousands of random edits over all that the catalogue offers: no leak, no wrong picture."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.perf.conftest import Table
from tests.preview.soak import BUDGET, MEASURED_EACH, RELEASED_EACH, USABLE, soak
from workbench.engine import Engine

GROWTH = 1.05
SWAY = 1.25
"""Of the memory that remains when nothing is kept, 60 to 110 MB: heaps do not shrink evenly."""


@pytest.mark.timeout(0)  # `make soak` takes hours
def test_many_edits(photos: Path, table: Table, request: pytest.FixtureRequest) -> None:
    edits = request.config.getoption("--edits")
    kernel = os.getpid()
    with Engine(budget=BUDGET) as engine:
        found = soak(engine, photos, edits, seed=2)
    memory = found.growth(found.resident, MEASURED_EACH)
    after = found.released[200 // RELEASED_EACH :]
    half = len(after) // 2
    remains = max(after[half:]) / max(after[:half])
    threads = found.growth(found.threads, MEASURED_EACH)
    table.add(f"worker memory over {edits:,} edits", [r / 2**20 for r in found.resident], "MB")
    table.add("worker memory with nothing kept", [r / 2**20 for r in found.released], "MB")
    table.add(f"worker threads over {edits:,} edits", [float(n) for n in found.threads], "")
    for what, growth in (
        ("memory", memory),
        ("threads", threads),
    ):
        table.add(f"worker {what}, end / after edit 200", [growth], "x", f"to reach: {GROWTH}")
    table.add("worker memory with nothing kept, later half / earlier", [remains], "x")
    print(f"\n{found.shown} shown, {found.compared} compared with a fresh export, bit for bit")
    print(f"{len(found.used)} of {len(USABLE)} operators shown; not: {found.unused()}")
    for text, count in found.refused.most_common(12):
        print(f"{count:5} {text}")
    for text in found.lost:
        print(f"lost: {text}")
    print("memory with nothing kept, MB:", [r >> 20 for r in found.released])
    assert found.compared > edits / 50 / 2
    assert memory <= GROWTH
    assert remains <= SWAY
    assert threads <= GROWTH
    assert os.getpid() == kernel
