"""Extract chains of steps, and write them as calls: code shared by all exporters."""
