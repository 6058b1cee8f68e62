"""One reason why a graph cannot run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FaultCode = Literal[
    "", "duplicate_id", "bad_id", "no_outputs", "output_name", "output_source", "no_reader",
    "parameter",
    "cycle", "setting", "unknown_op", "unusable_op", "unknown_arg", "value_and_link", "value",
    "conflict", "apart", "missing_arg", "seed", "source", "fixed_arg", "unknown_input", "kind",
    "unfed", "device", "cpu_after_gpu", "gpu_only", "arg_on_gpu", "arg_dtype", "dtype",
    "same_dtype", "channels", "layout", "relayout", "constant", "shapes", "zero", "index",
    "control", "bodies", "branches", "muted", "unfollowed",
]  # fmt: skip
"""What kind of fault it is: ``graph/fixes`` has remedies for each."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason. ``node`` and ``arg`` are empty where it is not theirs.

    ``message`` and ``remedy`` are for a person; ``code`` and ``about`` for ``fixes``: what it is
    about beside node and argument, such as the name of the output or setting.
    """

    node: str
    arg: str
    message: str
    remedy: str
    code: FaultCode = field(default="", compare=False)
    about: str = field(default="", compare=False)

    @property
    def words(self) -> str:
        """What is wrong and what to do, without the place."""
        return f"{self.message.removesuffix('.')}. {self.remedy}".rstrip()

    def __str__(self) -> str:
        where = ".".join(part for part in (self.node, self.arg) if part)
        return f"{where + ': ' if where else ''}{self.words}"
