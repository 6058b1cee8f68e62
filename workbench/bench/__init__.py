"""Measure images per second on the user's machine and data, as described in ``METHOD.md``."""

from workbench.bench.experiments.benchmark import Benchmark
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    COARSE_CONFIG,
    QUICK_CONFIG,
    MeasurementConfig,
)
from workbench.bench.records.record import Report, load_report

__all__ = [
    "COARSE_CONFIG",
    "QUICK_CONFIG",
    "Benchmark",
    "Grid",
    "Measurement",
    "MeasurementConfig",
    "Report",
    "load_report",
]
