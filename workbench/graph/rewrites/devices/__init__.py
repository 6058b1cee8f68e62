"""Nodes moved between CPU and GPU."""
