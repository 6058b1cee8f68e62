"""Boxes, points and masks that follow an image, in emitted source."""
