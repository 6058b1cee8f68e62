"""Convert pipelines to steps: graphs, compositions, functions, programs."""
