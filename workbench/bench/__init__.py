"""imgs/s, measured on the user's machine and data. How: ``METHOD.md`` beside this file."""

from workbench.bench.benchmark import Benchmark
from workbench.bench.measurement import Measurement
from workbench.bench.measurement_config import COARSE_CONFIG, QUICK_CONFIG, MeasurementConfig
from workbench.bench.record import Report, load_report

__all__ = [
    "COARSE_CONFIG",
    "QUICK_CONFIG",
    "Benchmark",
    "Measurement",
    "MeasurementConfig",
    "Report",
    "load_report",
]
