"""Nodes that can be taken out, joined or replaced by a value."""
