"""A worker that is stopped outside the timed rounds is told of too."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.engine.tasks import until
from tests.helpers import with_settings
from workbench.bench.experiments.compared_program import search_workers
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.measuring.pixels import compare_decoders
from workbench.bench.peers import compared_peers
from workbench.catalog import load_catalog
from workbench.engine.protocol import heartbeat
from workbench.engine.protocol.worker_progress import NO_ANSWER
from workbench.engine.resources.machine import describe_machine
from workbench.graph import load_recipe

Run = StageCostExperiment


def alone(run: Run) -> None:
    assert run._alone(run.graph, ["decode"]) == {}


def decoders(run: Run) -> None:
    found = compare_decoders(run.graph, run.data, run.stop, run.progress)
    assert "SIGSTOP" in found["reason"]


def peer(run: Run) -> None:
    machine = describe_machine()
    (found,) = compared_peers(run, ["Albumentations"], ("cpu",), load_catalog(), machine, {})
    search_workers(run, found, machine.cores, run.progress)
    assert "SIGSTOP" in found.reason


def stop_a_new_worker(known: set[int]) -> Callable[[], bool]:
    def look() -> bool:
        for child in psutil.Process().children(recursive=True):
            if child.pid not in known and "workbench.engine" in child.cmdline():
                os.kill(child.pid, signal.SIGSTOP)
                return True
        return False

    return look


@pytest.mark.thorough
@pytest.mark.usefixtures("started_workers")  # known by their command
@pytest.mark.parametrize("work", [alone, decoders, peer])
def test_a_stopped_worker_is_told_of(
    work: Callable[[Run], Any], photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "SILENCE_SHOWN", 0.3)
    monkeypatch.setattr(heartbeat, "STOPPED_LIMIT", 1.3)
    heard: list[tuple[float, str]] = []
    run = Run(with_settings(load_recipe("imagenet-train"), batch_size=4), str(photos))
    run.progress.listener = lambda share, text: heard.append((share, text))
    run.progress(0.95, "at work")
    known = {child.pid for child in psutil.Process().children(recursive=True)}
    stopping = threading.Thread(target=until, args=(stop_a_new_worker(known), 60))
    stopping.start()
    work(run)
    stopping.join()
    at = [words for _, words in heard].index(NO_ANSWER)
    share, words = heard[at - 1]
    assert heard[at : at + 2] == [(share, NO_ANSWER), (share, words)]
