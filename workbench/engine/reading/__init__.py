"""Read the same batches as an exported script, check their files and detect changes."""
