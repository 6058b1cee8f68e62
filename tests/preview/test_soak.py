"""The short form of ``tests/perf/test_soak.py``, for every run of the tests."""

from __future__ import annotations

from pathlib import Path

from tests.preview.soak import BUDGET, soak
from workbench.engine import Engine

EDITS = 150


def test_random_edits_show_what_the_export_gives(photos: Path) -> None:
    with Engine(budget=BUDGET) as engine:
        found = soak(engine, photos, EDITS, seed=1, compare_each=50)
        assert engine.pid is not None, "the worker is there after all of it"
    assert found.shown > EDITS / 3
    assert found.compared >= 1
    assert not found.lost, "\n".join(found.lost)
