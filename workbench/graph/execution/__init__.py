"""The running part of a graph, and its data: active nodes, datasets, several pipelines."""
