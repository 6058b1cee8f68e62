"""Graphs as JSON, and the data stored with them: positions, saved samples, recipes."""
