"""Store graphs as JSON, together with positions, saved samples and the import report."""
