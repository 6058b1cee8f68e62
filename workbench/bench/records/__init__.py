"""Format records as text, tables and charts, and compare records."""
