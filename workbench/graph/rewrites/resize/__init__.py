"""Rewrites of resizes and warps."""
