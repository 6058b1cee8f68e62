"""The grid of settings that are tried, and the search of the tuner. Pure functions."""
