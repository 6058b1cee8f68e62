"""The worker process, and all code that runs DALI pipelines."""

from workbench.engine.protocol.process import Engine
from workbench.engine.resources.machine import Machine, describe_machine

__all__ = ["Engine", "Machine", "describe_machine"]
