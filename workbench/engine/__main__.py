"""Start a worker: ``python -m workbench.engine FD FOLDER BUDGET PACKAGE...``."""

import sys

from workbench.engine.run.worker import main

main(*sys.argv[1:])
