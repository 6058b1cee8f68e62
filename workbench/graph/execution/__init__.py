"""The active part of a graph, its datasets, and parallel pipelines."""
