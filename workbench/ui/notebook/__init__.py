"""The workbench in a notebook: the widget, its parts, cells and completion."""
