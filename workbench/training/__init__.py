"""Tools for the user's own training loop and loader, including loaders that do not use DALI."""
