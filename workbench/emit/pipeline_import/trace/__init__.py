"""Pipelines as DALI represents them: ordered calls, seeds, serialised files, lines of code."""
