"""Data panel: opens folders, counts and checks files, and offers other ways to read them."""
