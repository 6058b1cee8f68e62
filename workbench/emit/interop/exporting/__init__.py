"""Code that the exporters of all libraries share: chains of a graph's steps, written as calls."""
