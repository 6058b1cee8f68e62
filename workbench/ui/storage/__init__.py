"""What is kept on disk: sessions, recent work, saved snippets and draws."""
