"""Measure one result: workers, rounds, warm-up, statistics, deadlines."""
