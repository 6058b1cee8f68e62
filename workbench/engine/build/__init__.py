"""Plan runs of a graph, and build their DALI pipelines from generated code."""
