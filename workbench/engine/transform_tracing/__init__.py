"""Compositions of other libraries in a script: their calls are recorded."""
