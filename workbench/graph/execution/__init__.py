"""The part of a graph that runs, and its data: active nodes, data sets, several pipelines."""
