"""Starts a worker: ``python -m workbench.engine FD FOLDER BUDGET PACKAGE...``."""

import sys

from workbench.engine.worker import main

main(*sys.argv[1:])
