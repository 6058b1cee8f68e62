"""Inspector: a row for each argument of the selected node, and the actions that edit it."""
