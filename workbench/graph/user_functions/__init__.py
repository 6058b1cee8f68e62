"""User functions: their source code, and whether it is trusted."""
