"""The pipelines that can be compared, as steps: graphs, compositions, functions, programs."""
