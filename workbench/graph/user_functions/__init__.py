"""Functions of the user, carried as source text, and whether they are trusted."""
