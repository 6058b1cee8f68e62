"""Measure configurations: workers, rounds, warm-up, statistics, deadlines."""
