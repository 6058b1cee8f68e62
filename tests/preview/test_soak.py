"""The short form of ``benchmarks/test_soak.py``, for ``make test-all``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.preview.soak import BUDGET, soak
from workbench.engine import Engine


@pytest.mark.thorough
@pytest.mark.parametrize("edits", [26, 300])
def test_random_edits_show_what_the_export_gives(photos: Path, edits: int) -> None:
    with Engine(budget=BUDGET) as engine:
        found = soak(engine, photos, edits, seed=2, compare_each=25)
        assert engine.pid is not None, "the worker is there after all of it"
    assert found.shown > edits / 3
    assert found.compared >= 1
    assert not found.lost, "\n".join(found.lost)
