"""Convert one call or statement of a traced pipeline to nodes of the graph."""
