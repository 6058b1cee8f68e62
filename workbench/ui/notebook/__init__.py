"""Workbench in a notebook: the widget, its parts, cell magics and completion."""
