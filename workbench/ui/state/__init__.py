"""Document, history and view settings, without toolkit and threads."""
