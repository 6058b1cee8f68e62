"""Runs the parts of a graph in a worker and caches unchanged results."""
