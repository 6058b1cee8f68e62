from __future__ import annotations

import os
from pathlib import Path

from tests.engine import tasks
from tests.helpers import chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.process_memory import (
    KEPT_AT_MOST,
    default_budget,
    give_back_free,
    resident_bytes,
    thread_count,
)
from workbench.engine.run.worker import memory_use, release
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest, preview_batch


def test_the_budget_is_a_part_of_this_machine() -> None:
    budget = default_budget()
    machine = describe_machine()
    assert 0 < budget["cpu"] <= min(KEPT_AT_MOST, machine.memory_gib * 2**30 / 8)
    assert (budget["gpu"] > 0) == bool(machine.gpu)


def test_figures_of_this_process() -> None:
    give_back_free()  # what earlier tests freed would be taken again, and nothing grow
    before = resident_bytes()
    held = b"\1" * 50_000_000
    assert resident_bytes() - before > 40_000_000
    assert resident_bytes(os.getpid()) > len(held)
    assert thread_count() >= 1
    give_back_free()


def test_what_is_kept_stays_within_the_budget(photos: Path) -> None:
    budget = 20_000_000
    graph = with_settings(chain_graph("resize", "rotate"), batch_size=4)
    with Engine(budget=budget) as engine:
        held = []
        for angle in range(12):
            edited = set_arg(graph, load_catalog(), "rotate", "angle", float(angle))
            preview = preview_batch(engine, PreviewRequest(edited, str(photos), tile_size=64))
            assert preview.memory is not None
            held.append(preview.memory.host)
            assert preview.memory.host_budget == budget
        # the encoded batch that the reader holds comes on top: 4 photos of 0.2 MB at most
        assert max(held) <= budget + 1_000_000
        assert held[-1] > budget / 2
        # until its threads rest: one may take or give back a page between the two looks
        tasks.until(
            lambda: engine.call(memory_use).resident == resident_bytes(engine.pid or 0), seconds=10
        )
        assert engine.call(memory_use).threads >= 1
        engine.call(release)
        assert engine.call(memory_use).host == 0


def test_the_worker_tidies_up_when_it_is_idle() -> None:
    with Engine() as engine:
        engine.call(tasks.fill_and_free, 200_000_000)
        pid = engine.pid or 0
        tasks.until(lambda: resident_bytes(pid) < 200_000_000, seconds=10)
