"""View model: handles actions, publishes fields, and restores sessions."""
