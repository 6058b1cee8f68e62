"""Generate code that transforms boxes, points and masks in the same way as an image."""
