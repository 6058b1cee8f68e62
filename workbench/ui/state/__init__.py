"""Document, history and view state, without UI toolkit and threads."""
