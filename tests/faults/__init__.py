"""Faults of the system in every host: kernel and app live, the graph is kept, the user is told."""
