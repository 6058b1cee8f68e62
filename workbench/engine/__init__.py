"""The worker process, and the only code that runs a DALI pipeline."""

from workbench.engine.machine import Machine, describe_machine
from workbench.engine.process import Engine

__all__ = ["Engine", "Machine", "describe_machine"]
