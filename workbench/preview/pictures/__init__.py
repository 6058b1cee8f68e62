"""Convert arrays to images, such as tiles, contact sheets, overlays and waveforms."""
