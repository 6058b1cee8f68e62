"""Source of a graph: calls, expressions, names, literals and comments."""
