"""Extract chains of steps from a graph, and write them as calls. All exporters share this code."""
