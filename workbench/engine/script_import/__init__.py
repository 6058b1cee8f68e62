"""Run a user's script to find its pipeline: sandbox, missing modules, ``--arg``, argparse."""
