"""Graphs as JSON and as text, and what is stored with them: positions, saved samples, recipes."""
