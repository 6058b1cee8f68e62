"""The speed panel: runs, records, and their payloads."""
