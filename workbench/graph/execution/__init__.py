"""What of a graph runs, and on which data: active nodes, datasets, pipelines side by side."""
