"""Graphs derived from another: for validation, for inference, with shared seeds, side by side."""
