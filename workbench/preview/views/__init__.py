"""What can be asked for: a batch, its steps, an effect, a search, a shared picture."""
