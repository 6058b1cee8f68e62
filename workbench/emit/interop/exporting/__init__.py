"""What the exporters of all libraries share: chains of steps out of a graph, written as calls."""
