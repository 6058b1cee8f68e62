"""Records of measurements: format as text, tables and charts, and compare."""
