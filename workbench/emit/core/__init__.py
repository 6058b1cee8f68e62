"""Generate the code of a graph: calls, expressions, names, literals and comments."""
