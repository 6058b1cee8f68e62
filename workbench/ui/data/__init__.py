"""Data panel: folders, counts, file checks, and other ways to read the same data."""
