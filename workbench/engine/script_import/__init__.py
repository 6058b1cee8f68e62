"""Pipelines of a script or notebook, found and traced without building or running them."""
