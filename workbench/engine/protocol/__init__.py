"""The worker process from outside: start, calls, typed messages, deadlines, hangs, shutdown."""
