"""Edit graphs with pure functions that return a new graph."""
