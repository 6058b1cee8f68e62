"""Tools for the user's own training loop and loader, also those without a pipeline of DALI."""
