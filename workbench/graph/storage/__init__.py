"""Graphs as JSON and as text, and what is kept beside them: positions, saved draws, recipes."""
