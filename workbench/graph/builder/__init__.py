"""The Python API: build a graph with method calls, and write a graph as method calls."""
