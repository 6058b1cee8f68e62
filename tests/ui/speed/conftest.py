"""A speed panel whose measurements are made up, on a machine without a GPU."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import MACHINE, measured
from workbench.bench.measuring.interleaved import ConfigJobs, OnRows
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.engine.protocol.progress import Progress
from workbench.errors import CancelledError
from workbench.graph import Graph, load_recipe
from workbench.sources import open_datasets
from workbench.ui.app.actions import ACTIONS
from workbench.ui.contract.action import parse_action
from workbench.ui.speed.panel import SpeedPanel
from workbench.ui.speed.speed_actions import RecordEdit, SpeedAction

NO_GPU = replace(MACHINE, gpu="", gpu_memory_gib=0.0, driver="", no_gpu="there is no GPU", cores=2)
PATIENCE = 90.0


class Bed:
    """A panel, its graph and folder, and a way to wait for what it will show."""

    def __init__(self, data: str, folder: Path | None) -> None:
        self.graph: Graph = load_recipe("rotate-jitter")
        self.data = open_datasets(data)
        self._condition = threading.Condition(threading.RLock())
        self.speed = SpeedPanel(self._condition, self._changed, NO_GPU, folder)  # type: ignore[arg-type]

    def _changed(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def __getitem__(self, field: str) -> Any:
        with self._condition:
            return self.speed.fields(self.graph, self.data)[field]

    def do(self, action: str, **parameters: Any) -> None:
        with self._condition:
            parsed = parse_action("speed", ACTIONS["speed"], {"do": action, **parameters})
            assert isinstance(parsed, SpeedAction)
            self.speed.apply(lambda: parsed.act(self.speed, self.graph, self.data))

    def edited(self, action: RecordEdit, graph: Graph | None = None) -> Graph:
        """The graph that an action makes of this one, or of another."""
        edited, said = action.edited(self.speed, graph or self.graph)
        self.speed.show_message(said)
        return edited

    def wait(self, holds: Callable[[Bed], object], what: str) -> None:
        with self._condition:
            assert self._condition.wait_for(lambda: holds(self), PATIENCE), what

    def hold(self, fake: Fake, **parameters: Any) -> None:
        """Ask for a measurement, and wait until the fake holds it."""
        fake.hold = True
        self.do("measure", **parameters)
        assert fake.holding.wait(30)

    def cancel(self) -> None:
        """Cancel what runs, and wait for its end."""
        self.do("cancel")
        self.wait(lambda bed: not bed["running"], "the end")

    def run(self, action: str = "measure", **parameters: Any) -> None:
        """Ask for a run and wait until it has ended; all that is shown is JSON."""
        self.do(action, **parameters)
        self.wait(lambda bed: not bed["running"], "the end")
        with self._condition:
            fields = self.speed.fields(self.graph, self.data)
        json.dumps({k: v for k, v in fields.items() if k != "file"}, allow_nan=False)


class Fake:
    """In place of ``interleaved.measure``: a rate by formula; it can be held until a cancel."""

    def __init__(self) -> None:
        self.hold = False
        self.calls = 0
        self.hold_at = 0
        """The call that is held, where it is not 0."""
        self.holding = threading.Event()
        self.graphs: list[str] = []

    def __call__(
        self,
        entries: Sequence[ConfigJobs],
        measurement_config: MeasurementConfig,
        stop: threading.Event,
        on_progress: Progress,
        before_round: object = None,
        on_rows: OnRows = lambda rows: None,
        best: float = 0.0,
        kept: object = None,
    ) -> tuple[Measurement, ...]:
        on_progress(0.5, "cpu: round 3")
        self.calls += 1
        if self.hold or self.calls == self.hold_at:
            on_rows(tuple(self._row(entry) for entry in entries))
            self.holding.set()
            assert stop.wait(PATIENCE)
            raise CancelledError("Cancelled.")
        return tuple(self._row(entry) for entry in entries)

    def _row(self, entry: ConfigJobs) -> Measurement:
        config = entry.config
        if config.batch_size == 128:
            return Measurement(config, reason="not measured: Out of memory", label=entry.label)
        rate = 100.0 * config.threads + config.batch_size + 4 * config.prefetch
        rate *= 2 if config.regime == "decode" else 1
        return replace(measured(rate, entry.label), config=config)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", made)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: NO_GPU
    )
    monkeypatch.setattr("workbench.ui.speed.record_payloads.describe_machine", lambda: NO_GPU)
    return made


@pytest.fixture
def bed(fake: Fake, photos: Path, tmp_path: Path) -> Iterator[Bed]:
    made = Bed(str(photos), tmp_path / "records")
    yield made
    made.speed.cancel()
