"""What can be asked for: a batch, its steps, an effect, statistics, a search, a shared picture."""
