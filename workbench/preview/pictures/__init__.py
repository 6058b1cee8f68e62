"""Convert arrays to images: tiles, sheets, annotation overlays, frame strips, sound curves."""
