"""imgs/s, measured on the user's machine and data. How: ``METHOD.md`` beside this file."""

from workbench.bench.lab import Bench
from workbench.bench.measurement import Measurement
from workbench.bench.record import Report

__all__ = ["Bench", "Measurement", "Report"]
