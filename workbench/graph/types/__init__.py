"""Infer devices, element types, layouts and shapes at every port without running the graph."""
