"""How one figure is taken: workers, rounds, warm-up, statistics, deadlines."""
