"""Run a user's script in a sandbox to find its pipeline, with stand-ins for missing modules."""
