"""Control a worker process: start and end it, exchange typed messages, and detect hangs."""
