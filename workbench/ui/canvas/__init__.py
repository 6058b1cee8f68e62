"""The canvas: what it draws, and the actions that it sends."""
