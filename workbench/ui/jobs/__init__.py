"""Background work of the user interface: queues, threads and results."""
