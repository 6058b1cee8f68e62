"""The Python API: a graph built by method calls, and a graph written as method calls."""
