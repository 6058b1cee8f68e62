"""Build the graph of an import. The importers of all libraries share this code."""
