"""Define and edit nodes with bodies: if, one of, some of, and repeat."""
