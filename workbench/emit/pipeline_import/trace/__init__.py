"""A pipeline as DALI holds it: calls in order, seeds, serialized pipelines, source lines."""
