"""The inspector: a row for each argument of the selected node, and its actions."""
