"""Rewrites of crops and slices."""
