from __future__ import annotations

import pytest

from tests.training.virtual_loops import VirtualTime
from workbench.training.watch import report


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> VirtualTime:
    """Virtual time for watched loops, whose reports have an empty picture."""
    monkeypatch.setattr(report, "_strip_chart", lambda steps: b"")
    return VirtualTime(monkeypatch)
