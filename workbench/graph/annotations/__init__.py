"""Boxes, points and masks that follow the image through geometric operators."""
