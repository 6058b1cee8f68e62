"""The code panel: the graph as code for a target, and the exported files."""
