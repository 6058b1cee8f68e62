"""Pipelines back onto the canvas: what DALI holds of one, as a graph."""
