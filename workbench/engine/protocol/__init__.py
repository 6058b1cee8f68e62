"""The worker process seen from outside: start it, call it, exchange typed messages, end it."""
