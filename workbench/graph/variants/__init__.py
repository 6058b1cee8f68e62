"""Derive graphs from a graph: for validation, inference, comparison and single samples."""
