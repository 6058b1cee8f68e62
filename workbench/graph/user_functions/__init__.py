"""User functions: their source as text, and whether it is trusted."""
