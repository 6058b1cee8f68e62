"""Jinja2 templates (``*.j2``) of the exported programs, and the values that fill them."""
