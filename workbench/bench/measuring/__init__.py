"""Measure configurations: workers, rounds, warm-up, statistics, time limits."""
