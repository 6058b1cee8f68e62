"""Rewrites of colour operators."""
