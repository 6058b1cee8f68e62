"""Background work: queues, threads and results."""
