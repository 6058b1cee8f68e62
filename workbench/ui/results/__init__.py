"""Results panel: results of tools that ran in this kernel, and results opened from files."""
