"""Pipelines of a script, found and traced without a build or run; what ``--arg`` gives them."""
