"""Runs the parts of a graph in a worker and keeps what has not changed."""
