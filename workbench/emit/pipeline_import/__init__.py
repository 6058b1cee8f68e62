"""A traced DALI pipeline as a graph."""
