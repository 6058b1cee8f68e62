"""Determine the active part of a graph, adapt it to its datasets, and split it into pipelines."""
