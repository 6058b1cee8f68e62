"""Graphs derived from another graph: for validation, inference, comparison and samples."""
