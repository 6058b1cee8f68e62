"""Code panel: shows and saves the graph as code for an export target."""
