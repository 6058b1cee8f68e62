"""The exported programs as Jinja2 templates (``*.j2``), and their values."""
