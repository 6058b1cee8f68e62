"""Faults and warnings of a graph, found without running it."""
