"""Work in the background: queues, threads and results."""
