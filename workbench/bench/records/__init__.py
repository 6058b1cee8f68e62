"""Show a record as text, table and charts, and compare records."""
