"""Determine and limit the GPU, cores, memory and folders that a worker uses."""
