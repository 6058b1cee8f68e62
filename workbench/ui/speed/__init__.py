"""The speed lab's panel: runs, records, and how both are shown."""
