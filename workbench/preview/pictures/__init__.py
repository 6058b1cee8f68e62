"""Arrays as images: tiles, sheets, marks, frame strips, sound curves."""
