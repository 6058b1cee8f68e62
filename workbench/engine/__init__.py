"""The worker process, and the only code that runs a DALI pipeline."""

from workbench.engine.protocol.process import Engine
from workbench.engine.resources.machine import Machine, describe_machine

__all__ = ["Engine", "Machine", "describe_machine"]
