"""The reader's batches, exactly as in the exported script."""
