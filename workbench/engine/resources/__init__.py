"""Determine and limit the resources of a worker: GPU, cgroup limits, memory budgets, folders."""
