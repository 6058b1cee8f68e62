"""Convert a traced DALI pipeline to a graph."""
