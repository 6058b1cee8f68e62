"""The data panel: folders, counts, checks and other ways to read the same data."""
