"""A record as text, table, charts (also for the screen) and comparisons."""
