"""Serve the images of Python objects from one process to others through shared memory."""
