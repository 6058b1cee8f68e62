"""Fill the Jinja2 templates (``*.j2``) of the exported programs."""
