"""Batches of the reader, exactly as the exported script gets them."""
