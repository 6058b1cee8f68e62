"""Convert arrays to images: tiles, contact sheets, annotation overlays, frame strips, waveforms."""
