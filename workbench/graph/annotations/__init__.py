"""Transform boxes, points and masks together with their image."""
