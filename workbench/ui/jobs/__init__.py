"""Run background work of the user interface in threads, and deliver its results."""
