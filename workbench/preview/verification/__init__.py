"""The preview compared with the exported script, bit for bit."""
