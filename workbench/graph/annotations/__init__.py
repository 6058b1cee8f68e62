"""Boxes, points and masks that geometric operators transform together with the image."""
