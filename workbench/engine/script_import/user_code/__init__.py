"""Store the Python code that the pipelines of a script call: numba functions, and sources."""
