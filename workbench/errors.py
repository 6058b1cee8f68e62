"""Every error that the workbench raises on purpose.

::

    WorkbenchError
    ├── CatalogError             DALI is missing, or has no such operator
    ├── DataError                the folder is missing, empty, unreadable or without images
    ├── GraphError
    │   ├── GraphFormatError     the text is not a graph that this version can read
    │   ├── GraphEditError       an edit names a node or port that is not there
    │   ├── GraphFaultsError     the graph cannot run; ``faults`` lists every reason
    │   └── GraphExportError     the graph runs, but cannot go to that target
    ├── EngineError
    │   ├── PipelineError        DALI refused the pipeline; ``node`` says where, if known
    │   ├── WorkerLostError      the worker is gone; ``nodes`` says what it ran
    │   │   ├── WorkerCrashedError   it ended by itself
    │   │   └── WorkerTimeoutError   it did not answer in time and was ended
    │   │       └── WorkerSilentError    it gave no sign of life at all: stopped, for example
    │   └── CancelledError       the caller asked to stop
    │       └── EngineClosedError    the engine was closed: it runs nothing any more
    ├── RecordFormatError        the text is not a record of measurements for this version
    ├── ImportFailedError        a source has no pipeline that can be read; nothing was written
    │   └── PipelineFormatError      the bytes are not a pipeline that DALI serialised
    └── SaveError                a file could not be written; the old one is untouched

A message names the fact, the value found, the values allowed and the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph.check import Fault


class WorkbenchError(Exception):
    """Base of all errors the workbench raises on purpose."""


class CatalogError(WorkbenchError):
    """DALI cannot be imported, or an operator is not in its catalogue."""


class DataError(WorkbenchError):
    """The data folder cannot be used."""


class GraphError(WorkbenchError):
    """Base of the errors about a graph."""


class GraphFormatError(GraphError):
    """A text is not a graph file that this version can read."""


class GraphEditError(GraphError):
    """An edit names a node, port or argument that the graph does not have."""


class GraphFaultsError(GraphError):
    """A graph cannot run.

    ``faults`` holds every reason, in the order of the nodes.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(tuple(faults))
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class GraphExportError(GraphError):
    """A graph runs, but cannot go to an export target. The message names the node."""


class EngineError(WorkbenchError):
    """Base of the errors of the worker process."""


class PipelineError(EngineError):
    """DALI refused to build or to run a pipeline.

    ``node`` is the id of the node whose source line DALI quoted, or None where it quoted none.
    """

    def __init__(self, message: str, node: str | None = None) -> None:
        self.node = node
        super().__init__(message)


class WorkerLostError(EngineError):
    """Base of the two below. ``nodes`` are those that ran then, as far as that is known."""

    def __init__(self, message: str, nodes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)

    @property
    def node(self) -> str | None:
        """The node at fault, or None where several ran."""
        return self.nodes[0] if len(self.nodes) == 1 else None


class WorkerCrashedError(WorkerLostError):
    """The worker process ended by itself: a crash, a kill, or out of memory.

    ``killed`` says that SIGKILL ended it: the system for lack of memory, or somebody.
    """

    def __init__(self, message: str, nodes: Sequence[str] = (), killed: bool = False) -> None:
        super().__init__(message, nodes)
        self.killed = killed


class WorkerTimeoutError(WorkerLostError):
    """The worker process did not answer within its time limit and was ended."""


class WorkerSilentError(WorkerTimeoutError):
    """The worker process gave no sign of life for a while, and was ended."""


class CancelledError(EngineError):
    """The caller cancelled the work."""


class EngineClosedError(CancelledError):
    """The engine was closed for good while the call ran or waited, or before it was made."""


class RecordFormatError(WorkbenchError):
    """A text is not a record of measurements that this version can read."""


class ImportFailedError(WorkbenchError):
    """A script, notebook or file gives no pipeline. The message says why, and where."""


class PipelineFormatError(ImportFailedError):
    """Bytes are not a pipeline that DALI serialised, or were cut short."""


class SaveError(WorkbenchError):
    """A file could not be written. What stood there before is untouched."""
