"""Shared by the exporters of all libraries: chains of steps of a graph, written as calls."""
