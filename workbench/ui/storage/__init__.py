"""What is kept on disk: sessions, recent work, saved blocks and draws."""
