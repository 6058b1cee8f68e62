"""Part of a graph as a pipeline that the engine runs for the preview."""
