"""Pipelines as DALI represents them: calls in order, seeds, serialised files, source lines."""
