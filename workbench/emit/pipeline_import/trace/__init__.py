"""Represent pipelines as DALI does: ordered calls, seeds, serialised files, lines of code."""
