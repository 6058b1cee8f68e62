"""imgs/s, measured on the user's machine and data. How: ``METHOD.md`` beside this file."""

from workbench.bench.benchmark import Benchmark
from workbench.bench.measurement import Measurement
from workbench.bench.record import Report

__all__ = ["Benchmark", "Measurement", "Report"]
