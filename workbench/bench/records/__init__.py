"""Format records of measurements as text, tables and charts, and compare records."""
