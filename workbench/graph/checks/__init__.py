"""Faults and warnings: everything that is wrong with a graph, found without running it."""
