"""Check data files by their headers, or by decoding them."""
