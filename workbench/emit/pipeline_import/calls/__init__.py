"""One call or statement of a traced pipeline, as nodes of the graph."""
