"""Every setting of a grid measured by itself."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

from workbench.bench.analysis.grid import KNOBS, Grid, Place
from workbench.bench.experiments.grid_experiment import SAME, GridExperiment
from workbench.bench.experiments.speed_experiment import Outcome
from workbench.bench.measuring.interleaved import format_duration
from workbench.bench.measuring.measurement import Measurement


class SweepExperiment(GridExperiment):
    """Every setting of a grid, each in a fresh worker, in random order."""

    kind = "sweep"
    measures_all = True

    def measure_all(self) -> Outcome:
        """Measure the grid. A setting that fails is a row with the reason."""
        places = list(self.grid.places())
        rows: dict[Place, Measurement] = {}
        began = time.monotonic()
        for number, place in enumerate(random.sample(places, len(places))):
            config = self.grid.config(place, self.base)
            self.publish(list(rows.values()), config)
            where = f"{number + 1} of {len(places)}: {config.settings}"
            left = (time.monotonic() - began) / max(number, 1) * (len(places) - number)
            words = f"{where}, about {format_duration(left)} left" if number else where
            progress = self.progress.part(number / len(places), (number + 1) / len(places), words)
            progress(0.0, words)
            rows[place] = self.measure_one(config, on_progress=progress)
        sweep = {
            "seconds": time.monotonic() - began,
            "no_effect": ineffective_knobs(self.grid, rows),
        }
        measured = [rows[place] for place in places]
        return Outcome(measured, {"grid": self.grid.to_json(), "sweep": sweep})


def ineffective_knobs(grid: Grid, rows: Mapping[Place, Measurement]) -> list[str]:
    """Knobs of a grid whose every value can be as fast as any other, within 3 %."""
    found = []
    for index, knob in enumerate(KNOBS):
        best: dict[int, float] = {}
        for place, row in rows.items():
            best[place[index]] = max(best.get(place[index], 0.0), row.rate)
        if len(best) > 1 and min(best.values()) > (1 - SAME) * max(best.values()):
            found.append(knob)
    return found


def describe_ineffective(knob: str) -> str:
    """What it means that a knob is one of those."""
    return f"{knob} makes no difference to the best: each of its values has a setting as fast"
