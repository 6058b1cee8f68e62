"""A graph as Python source: calls, expressions, names, literals and comments."""
