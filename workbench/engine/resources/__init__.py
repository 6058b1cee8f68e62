"""What the machine has and a worker may use: GPU, cgroup limits, memory budgets, folders."""
