"""Represent a traced pipeline as ordered calls, with their seeds and lines in the source code."""
