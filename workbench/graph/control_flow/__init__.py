"""Nodes with bodies: if, one of, some of, and repeat."""
