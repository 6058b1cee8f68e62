"""Build a graph with method calls, and generate the method calls that build a graph."""
