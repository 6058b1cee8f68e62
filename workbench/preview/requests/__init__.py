"""Kinds of requests: batch, steps, effect, statistics, search, shared picture."""
