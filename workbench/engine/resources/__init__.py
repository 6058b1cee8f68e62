"""Resources that a worker may use: GPU, cgroup limits, memory budgets, folders."""
