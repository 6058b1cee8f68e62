"""The exported programs as Jinja2 templates (``*.j2``), and the values that they are given."""
