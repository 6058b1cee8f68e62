"""Measure configurations in worker processes, and compute statistics of the results."""
