"""Code that the exporters of all libraries share: extract chains of steps, write them as calls."""
