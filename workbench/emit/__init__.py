"""Convert a graph to Python code, and Python code to a graph."""

from workbench.emit.core.code import Code
from workbench.emit.preview.preview_stage import emit_stage
from workbench.emit.script import emit_script

__all__ = ["Code", "emit_script", "emit_stage"]
