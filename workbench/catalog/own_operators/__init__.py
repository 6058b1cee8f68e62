"""Operators that are not DALI's own: blocks, followers, functions, arithmetic, readers."""
