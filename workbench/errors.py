"""Define every error that the workbench raises deliberately, with the mistakes that raise it.

A mistake in a call raises ``ArgumentError``, which is a ValueError. The class depends on the
mistake:

===============================================  ===================  ==========================
mistake or event                                 class                also a
===============================================  ===================  ==========================
a name that does not exist: attribute, operator, UnknownNameError     AttributeError, KeyError,
argument, option, setting, node, output, part                         ValueError
a value of the wrong type or out of its range    ArgumentError        ValueError
the same, for an argument of an operator         GraphFaultsError     ArgumentError, ValueError
an edit that the graph does not allow            GraphEditError       ArgumentError, ValueError
an unknown recipe; a file that is not a graph    GraphFormatError     ArgumentError, ValueError
an unknown target; an unsupported graph          GraphExportError     ArgumentError, ValueError
a graph used like another Python value: changed  UnsupportedUseError  TypeError, ValueError
in place, iterated, converted to bool
data that are missing, empty or unreadable       DataError
a library that is not installed                  MissingLibraryError  ImportError
a script or composition that cannot be read      ImportFailedError
a file that cannot be written                    SaveError
DALI rejects the pipeline                        PipelineError        EngineError
the worker ended, or the call was cancelled      WorkerLostError,     EngineError
                                                 CancelledError
===============================================  ===================  ==========================

::

    WorkbenchError
    ├── ArgumentError                a call has a mistake; a ValueError too
    │   ├── GraphError
    │   │   ├── GraphFormatError     the text is not a graph that this version can read
    │   │   ├── GraphEditError       an edit is not possible
    │   │   │   ├── UnknownNameError     nothing has this name
    │   │   │   └── UnsupportedUseError  a graph is not a Python value of this kind
    │   │   ├── GraphFaultsError     the graph cannot run; ``faults`` lists every reason
    │   │   └── GraphExportError     the graph runs, but the target does not support it
    ├── CatalogError                 DALI is missing, or has no such operator
    ├── DataError                    the folder is missing, empty, unreadable or without images
    ├── MissingLibraryError          a library is not installed; an ImportError too
    ├── EngineError
    │   ├── PipelineError            DALI rejected the pipeline; ``node`` is the place, if known
    │   ├── WorkerLostError          the worker ended; ``nodes`` were running
    │   │   ├── WorkerCrashedError   it ended by itself
    │   │   └── WorkerTimeoutError   it did not respond in time and was terminated
    │   │       └── WorkerSilentError    it did not respond at all, for example: paused
    │   └── CancelledError           the caller asked to stop
    │       └── EngineClosedError    the engine was closed
    ├── RecordFormatError            the text is not a record of measurements for this version
    ├── ImportFailedError            a source has no pipeline that can be read; nothing was written
    │   └── PipelineFormatError      the bytes are not a serialized DALI pipeline
    └── SaveError                    a file could not be written; the old one is unchanged
        └── OverwriteError           the file exists, and overwriting was not requested

A message names the problem, the value found, the allowed values and the fix. In a notebook it is
shown with the line of the cell; ``%xmode Verbose`` shows every frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.graph.checks.check import Fault


NO_IMAGE = "No output of the graph is an image"
"""Start of the GraphError message for a graph that outputs no image."""

OUTSIDE = "reaches outside the image of"
"""Words in the message of a PipelineError if a crop window is outside the image."""

ORIGINAL = "\nDALI: "
"""Separator between the explanation in a PipelineError and DALI's own message."""


class WorkbenchError(Exception):
    """Base of all errors that the workbench raises deliberately.

    ::

        try:
            graph.rotate(angl=5)
        except wb.WorkbenchError as error:
            print(error)  # rotate has no argument 'angl'. Did you mean angle?
            raise
    """

    def _render_traceback_(self) -> list[str]:
        """Return the traceback for IPython: the line of the cell and the error.

        Frames of the workbench and of libraries are hidden unless ``%xmode Verbose`` is set.
        """
        import sys
        import traceback

        shell = sys.modules["IPython"].get_ipython()
        if getattr(getattr(shell, "InteractiveTB", None), "mode", "") == "Verbose":
            return traceback.format_exception(self)
        frames = traceback.extract_tb(self.__traceback__)
        own = [frame for frame in frames if _is_of_a_cell(frame.filename)][-1:]
        magic = "get_ipython().run_"  # IPython's form of %%dali, with the whole cell as a string
        where = [
            f"Line {frame.lineno}: {frame.line}"
            for frame in own
            if frame.line and not frame.line.startswith(magic)
        ]
        return [*where, f"{type(self).__name__}: {self}"]


def _is_of_a_cell(filename: str) -> bool:
    return "ipykernel_" in filename or filename.startswith("<ipython-input")


class ArgumentError(WorkbenchError, ValueError):
    """An argument is unknown, has the wrong type or is out of range.

    ::

        wb.check_graph("photos")
    """


class CatalogError(WorkbenchError):
    """DALI cannot be imported, or an operator is not in its catalogue.

    ::

        wb.load_catalog()["rotat"]
    """


class DataError(WorkbenchError):
    """The data folder cannot be used.

    ::

        wb.read("nowhere")
    """


class MissingLibraryError(WorkbenchError, ImportError):
    """A library that a call needs is not installed. The message has the command that installs it.

    ::

        w.batch(0).to("cupy")
    """


class GraphError(ArgumentError):
    """Base of the errors about a graph.

    ::

        graph["rotat"]
    """


class GraphFormatError(GraphError):
    """A text is not a graph file that this version can read.

    ::

        wb.load_recipe("simcl")
    """


class GraphEditError(GraphError):
    """An edit names a node, port or argument that the graph does not have.

    ::

        graph["rotate"].set(angl=5)
    """


class UnknownNameError(GraphEditError, AttributeError, KeyError):
    """A name does not exist: an attribute, operator, argument, option, setting, node or output.

    ::

        graph.rotat(angle=5)
    """

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


class UnsupportedUseError(GraphEditError, TypeError):
    """A graph, or one of its outputs, was changed in place, iterated or converted to bool.

    ::

        for image in graph.images:
            print(image)
    """


class GraphFaultsError(GraphError):
    """A graph cannot run.

    ``faults`` contains every reason, in the order of the nodes.

    ::

        graph.rotate(angle="left")
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__(tuple(faults))
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class GraphExportError(GraphError):
    """An export target does not support the graph. The message names the node.

    ::

        wb.export(graph, "pytorhc")
    """


class EngineError(WorkbenchError):
    """Base of the errors of the worker process.

    If a worker is lost, the graph is unchanged, and the next call starts another worker.

    ::

        with wb.Engine() as closed:
            pass
        wb.preview_batch(closed, wb.PreviewRequest(graph, "photos"))
    """


class PipelineError(EngineError):
    """DALI failed to build or to run a pipeline.

    ``node`` is the id of the node whose source line DALI quoted, or None if it quoted none.

    ::

        large = graph.images.crop(crop=(1000, 1000))  # of photos of 224 pixels
        wb.preview_outputs(engine, wb.PreviewRequest(wb.outputs(images=large), "photos"))
    """

    def __init__(self, message: str, node: str | None = None) -> None:
        self.node = node
        super().__init__(message)


class WorkerLostError(EngineError):
    """Base of WorkerCrashedError and WorkerTimeoutError.

    ``nodes`` are the ids of the nodes that were running at that time, as far as known.
    """

    def __init__(self, message: str, nodes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)

    @property
    def node(self) -> str | None:
        """Id of the node that was running, or None if several were running or none is known."""
        return self.nodes[0] if len(self.nodes) == 1 else None


class WorkerCrashedError(WorkerLostError):
    """The worker process ended: it crashed, was killed, or ran out of memory.

    ``killed`` is True if SIGKILL ended it, sent by a user or by the system for lack of memory.
    """

    def __init__(self, message: str, nodes: Sequence[str] = (), killed: bool = False) -> None:
        super().__init__(message, nodes)
        self.killed = killed


class WorkerTimeoutError(WorkerLostError):
    """The worker process did not respond within its time limit and was terminated.

    ::

        large = graph.with_settings(batch_size=64)
        with wb.Engine(call_limit=0.001) as hurried:
            wb.preview_batch(hurried, wb.PreviewRequest(large, "photos", tiles=64, lossless=True))
    """


class WorkerSilentError(WorkerTimeoutError):
    """The worker process did not respond at all for some time and was terminated."""


class CancelledError(EngineError):
    """The caller cancelled the work.

    ::

        with wb.Engine() as ended:
            handle = ended.handle()
            handle.cancel()
            wb.preview_batch(handle, wb.PreviewRequest(graph, "photos"))
    """


class EngineClosedError(CancelledError):
    """Raised if the engine was closed before or during the call."""


class RecordFormatError(WorkbenchError):
    """A text is not a record of measurements that this version can read."""


class ImportFailedError(WorkbenchError):
    """A script, notebook or file contains no pipeline that can be read. The message says why.

    ::

        wb.from_file("nowhere.py")
    """


class PipelineFormatError(ImportFailedError):
    """Bytes are not a serialized DALI pipeline, or are truncated.

    ::

        pathlib.Path("cut.dali").write_bytes(b"short")
        wb.from_file("cut.dali")
    """


class SaveError(WorkbenchError):
    """A file could not be written. The previous file is unchanged.

    ::

        w.share("nowhere/mine.png")
    """


class OverwriteError(SaveError):
    """A file exists already, and overwriting was not requested."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} already exists and was not overwritten.")
        self.path = path
