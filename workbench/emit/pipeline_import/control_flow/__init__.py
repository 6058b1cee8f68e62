"""Conditionals and loops of a traced pipeline, as nodes with bodies."""
