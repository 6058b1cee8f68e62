"""Files of the user interface: sessions, recent work, saved snippets and saved samples."""
