"""Controls the worker process: start, calls, typed messages, deadlines, hangs, shutdown."""
