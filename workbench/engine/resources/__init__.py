"""Resources of the machine that a worker may use: GPU, cgroup limits, memory budgets, folders."""
