"""What figures mean: stages, headroom, and the search of the tuner. Pure functions."""
