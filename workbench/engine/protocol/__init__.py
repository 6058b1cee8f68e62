"""Control the worker process: start, calls, typed messages, timeouts, hangs, shutdown."""
