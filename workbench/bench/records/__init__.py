"""A record of a run, and how it is shown: text, table, plots, comparisons."""
