"""User functions, stored as source text, and whether they are trusted."""
