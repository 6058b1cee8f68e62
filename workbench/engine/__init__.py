"""Run DALI pipelines, and control the worker process in which they run."""

from workbench.engine.protocol.process import Engine
from workbench.engine.resources.machine import Machine, describe_machine

__all__ = ["Engine", "Machine", "describe_machine"]
