"""graph -> Python source. One module per target; the calls themselves come from ``source.py``."""

from workbench.emit.code import Code
from workbench.emit.script import emit_script
from workbench.emit.stage import emit_stage

__all__ = ["Code", "emit_script", "emit_stage"]
