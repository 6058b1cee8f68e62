"""A record of a run as text, table, charts (also for the screen) and comparisons."""
