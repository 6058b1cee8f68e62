"""Define ``Fault``: one reason why a graph cannot run."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from workbench.figures import plot_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FaultCode = Literal[
    "", "duplicate_id", "bad_id", "no_outputs", "output_name", "output_source", "no_reader",
    "parameter",
    "cycle", "setting", "unknown_op", "unusable_op", "unknown_arg", "value_and_link", "value",
    "conflict", "apart", "missing_arg", "seed", "source", "fixed_arg", "unknown_input", "kind",
    "unfed", "device", "cpu_after_gpu", "gpu_only", "arg_on_gpu", "arg_dtype", "dtype",
    "same_dtype", "channels", "layout", "relayout", "constant", "shapes", "zero", "index",
    "control", "draw", "bodies", "branches", "muted", "unfollowed", "unmoved", "polygons", "pairs",
    "tight", "bound", "unbound", "untrusted", "covered", "scale", "sides", "unshuffled", "buffer",
    "overhang", "unusable", "random", "without_area", "box_layout", "silent", "orientation",
    "unequal", "readers", "lengths", "unit", "sampler", "sampling",
]  # fmt: skip
"""The kind of fault, which determines the fixes in ``graph/fixes``."""

WARNINGS: frozenset[FaultCode] = frozenset(
    {
        *("covered", "scale", "sides", "unshuffled", "buffer", "overhang", "unusable", "random"),
        *("without_area", "box_layout", "silent", "orientation", "unequal", "readers"),
        *("lengths", "unit", "sampling", "unbound"),
    }
)
"""Codes of the faults that ``check_warnings`` returns. These do not prevent a run."""
DATA_WARNINGS: frozenset[FaultCode] = frozenset(
    {
        *("sides", "unshuffled", "buffer", "overhang", "unusable", "without_area", "silent"),
        *("orientation", "lengths"),
    }
)
"""Codes of warnings that depend on the data."""

_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason why a graph cannot run. ``node`` and ``arg`` are empty if they do not apply.

    ``message`` and ``remedy`` are for the user. ``code`` and ``about`` select the fixes; ``about``
    names an additional object that the fault concerns, such as an output or a setting.

    ::

        for fault in wb.check_graph(graph["rotate"].remove()):
            print(fault.node, fault.arg, fault.message, fault.remedy)
    """

    node: str
    arg: str
    message: str
    remedy: str
    code: FaultCode = field(default="", compare=False)
    about: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The problem and the fix as one string, without the node and argument."""
        return f"{self.message.removesuffix('.')}. {self.remedy}".rstrip()

    def __str__(self) -> str:
        where = ".".join(part for part in (self.node, self.arg) if part)
        return f"{where + ': ' if where else ''}{self.text}"


class Faults(tuple[Fault, ...]):
    """Faults returned by ``check_graph``. They are printed one per line.

    ::

        assert not wb.check_graph(graph)
    """

    __slots__ = ()

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per fault: node, argument, problem, fix.

        ::

            print(wb.check_graph(graph["rotate"].remove()).to_frame())

        Raises ImportError if pandas is not installed.
        """
        import pandas

        rows = [astuple(fault)[:4] for fault in self]
        return pandas.DataFrame(rows, columns=["node", "argument", "message", "remedy"])

    def plot(self) -> Figure:
        """Plot the number of faults per node as a matplotlib figure.

        ::

            figure = wb.check_graph(graph["rotate"].remove()).plot()
        """
        counts = Counter(fault.node or "the graph" for fault in self)
        most = dict(counts.most_common(_MOST_SHOWN))
        return plot_counts(most, "faults", f"{len(self)} faults in {len(counts)} nodes")

    def __repr__(self) -> str:
        more = len(self) - _MOST_SHOWN
        lines = [str(fault) for fault in self[:_MOST_SHOWN]]
        return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])]) or "no faults"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no faults</p>"
        rows = (
            f"<tr><td>{escape(fault.node[:80])}</td><td>{escape(fault.arg[:80])}</td>"
            f"<td>{escape(fault.message[:400])}</td><td>{escape(fault.remedy[:400])}</td></tr>"
            for fault in self[:_MOST_SHOWN]
        )
        more = len(self) - _MOST_SHOWN
        head = "<tr><th>node</th><th>argument</th><th>what is wrong</th><th>what to do</th></tr>"
        rest = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<table>{head}{''.join(rows)}</table>{rest}"
