"""Convert part of a graph to a pipeline that the engine runs for the preview."""
