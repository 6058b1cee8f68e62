"""The document with its history, and what is looked at: no toolkit, no thread."""
