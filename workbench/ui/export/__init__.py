"""Code panel: the graph as code for a target, and saving it."""
