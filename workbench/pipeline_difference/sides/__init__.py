"""Convert pipelines (graphs, composed transforms, functions, programs) to steps."""
