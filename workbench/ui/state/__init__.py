"""Document, history and view settings, without UI toolkit and threads."""
