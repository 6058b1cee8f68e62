"""Store the numba functions and Python sources that the pipelines of a script call."""
