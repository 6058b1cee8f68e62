"""The results panel: results of tools in this kernel, and results from files."""
