"""How one result is measured: workers, rounds, warm-up, statistics, deadlines."""
