"""Run the parts of a graph in a worker, and cache unchanged results."""
