"""Answer preview requests: batch, steps, effect, statistics, search, shared picture."""
