"""imgs/s, measured on the user's machine and data."""

from workbench.bench.measure import Bench, Measurement, Report

__all__ = ["Bench", "Measurement", "Report"]
