"""One table of all benchmarks, printed last, and written as JSON to $OUT if set."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from workbench.engine import describe_machine

pytest_plugins = ["tests.conftest"]
"""Fixtures and options of the tests; benchmarks run separately."""

if find_spec("playwright"):  # not on a machine that is there for its GPU
    # Here, not in each module: Playwright starts once only.
    from tests.ui.conftest import (  # noqa: F401
        browser,
        host,
        lab,
        lab_server,
        page,
        panel,
        panel_server,
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--edits", type=int, default=2000, help="how many edits test_soak.py makes")
    parser.addoption(
        "--entries", type=int, default=10**5, help="the most that test_many_entries.py opens"
    )
    parser.addoption(
        "--minutes", type=float, default=0, help="how long its sessions are used, whatever --edits"
    )


@dataclass(frozen=True)
class Row:
    what: str
    median: float
    p95: float
    runs: int
    unit: str
    note: str = ""


class Table:
    """The rows measured so far."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, what: str, values: list[float], unit: str, note: str = "") -> Row:
        """Record the median and the 95th percentile of some values."""
        assert values, f"{what}: nothing was measured"
        p95 = sorted(values)[min(len(values) - 1, round(0.95 * (len(values) - 1)))]
        row = Row(what, statistics.median(values), p95, len(values), unit, note)
        self.rows.append(row)
        return row

    def text(self) -> str:
        machine = describe_machine()
        lines = [f"{machine.cpu}, {machine.cores} cores; {machine.gpu or machine.no_gpu}"]
        lines.append(f"{'':58} {'median':>10} {'p95':>10}  runs")
        for row in self.rows:
            lines.append(
                f"{row.what:58} {row.median:10.3f} {row.p95:10.3f} {row.runs:5} "
                f"{row.unit}  {row.note}".rstrip()
            )
        return "\n".join(lines)


@pytest.fixture(scope="session")
def table() -> Iterator[Table]:
    found = Table()
    yield found
    if found.rows:
        print("\n\n" + found.text())
    if os.environ.get("OUT"):
        record = {"machine": asdict(describe_machine()), "rows": [asdict(r) for r in found.rows]}
        Path(os.environ["OUT"]).mkdir(parents=True, exist_ok=True)
        Path(os.environ["OUT"], "perf.json").write_text(json.dumps(record, indent=2) + "\n")


def timed(function: Callable[[int], object], runs: int, warm_up: int = 3) -> list[float]:
    """Milliseconds of each of ``function(0)``, ``function(1)``, ... after some untimed calls."""
    for number in range(warm_up):
        function(-1 - number)
    found = []
    for number in range(runs):
        start = time.perf_counter()
        function(number)
        found.append((time.perf_counter() - start) * 1000)
    return found
