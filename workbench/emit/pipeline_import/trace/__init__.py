"""A pipeline as DALI represents it: calls in order, seeds, serialised pipelines, source lines."""
