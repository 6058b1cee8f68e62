"""The code panel: the graph as code for a target, and its files."""
