"""Four previews on one GPU share its memory: a budget that holds two still serves all four."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.resources.gpu import Gpu, first_visible_gpu
from workbench.engine.resources.memory_budget import GpuMeter, MemoryBudget
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, preview_batch

PREVIEWS = 4
ROUNDS = 3
HOST = 64 * 2**30


@pytest.mark.gpu
@pytest.mark.timeout(600)
def test_four_previews_keep_to_the_gpus_budget(photos: Path) -> None:
    """Without network and toolkit: engines, DALI and the driver's figures."""
    gpu = Gpu(first_visible_gpu())
    before = gpu.memory_used()
    assert before is not None, "the driver tells no memory"
    alone = MemoryBudget(HOST, 2**40)
    with Engine(memory=alone) as engine:
        preview_batch(engine, request(photos, 0))
        one = (gpu.memory_used() or 0) - before
    assert one > 0
    budget = MemoryBudget(HOST, int(2.5 * one), gpu_bytes=GpuMeter())
    budget.used()  # what the GPU has without them
    engines = [Engine(memory=budget) for _ in range(PREVIEWS)]
    most: list[int] = []
    alive: list[int] = []
    try:
        for turn in range(ROUNDS):
            for number, engine in enumerate(engines):
                shown = preview_batch(engine, request(photos, turn * PREVIEWS + number))
                assert all(not tile.sample.error for tile in shown.tiles)
                budget.enforce()
                most.append((gpu.memory_used() or 0) - before)
                alive.append(sum(each.pid is not None for each in engines))
    finally:
        for engine in engines:
            engine.close()
    after = (gpu.memory_used() or 0) - before
    print(f"\none preview {one >> 20} MiB, budget {budget.gpu >> 20} MiB")
    print("taken, MiB:", [value >> 20 for value in most], "workers:", alive)
    print(f"after all were closed {after >> 20} MiB")
    assert max(most) <= budget.gpu * 1.05
    assert after < one / 2


def request(photos: Path, value: int) -> PreviewRequest:
    graph = with_settings(load_recipe("rotate-jitter"), device="mixed", batch_size=32)
    edited = set_arg(graph, load_catalog(), "rotate", "fill_value", float(value))
    return PreviewRequest(edited, str(photos), tiles=32)
