"""Document, history and view state, which use neither a UI toolkit nor threads."""
