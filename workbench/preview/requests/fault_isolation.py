"""Find the node that crashed the worker process.

A failed C++ assertion in DALI aborts the process, in which several nodes may be running. To find
the cause, the nodes run one by one in a new worker, whose last report names the node that crashes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from workbench.emit.core.user_functions import nodes_calling
from workbench.engine.protocol.call_handle import Caller, ReportListener
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.errors import CancelledError, WorkbenchError, WorkerCrashedError, WorkerTimeoutError
from workbench.preview.request import PreviewRequest, run_request

P = ParamSpec("P")
T = TypeVar("T")
LIMIT = 20.0
"""Timeout for each node in the second run, in seconds."""


def call_isolating_faults(
    engine: Caller,
    task: Callable[..., Any],
    request: PreviewRequest,
    *arguments: Any,
    on_report: ReportListener | None = None,
) -> Any:
    """Call ``engine.call(task, request, *arguments)``, and attribute a crash to a node.

    If several nodes were running when the worker crashed, they are run again one by one. The error
    of this second run is then raised: a WorkerCrashedError or WorkerTimeoutError that names the
    node, or another error such as DALI's PipelineError. If the second run succeeds, the first error
    is raised. If the worker was killed from outside, there is no second run, because it cannot
    reveal the cause. After a timeout, the error names the user's own functions, if there are any.
    """
    try:
        if on_report is None:
            return engine.call(task, request, *arguments)
        return engine.call(task, request, *arguments, on_report=on_report)
    except WorkerCrashedError as error:
        if error.killed or len(error.nodes) < 2:
            raise
        raise find_failing_node(engine, request) or error from None
    except WorkerTimeoutError as error:
        ran = [request.graph.node(node) for node in error.nodes if request.graph.has(node)]
        own = [node.id for node in nodes_calling(ran)]
        if not own:
            raise
        which = "its function does" if len(own) == 1 else "one of their functions does"
        message = f"{', '.join(own)}: {which} not return, or takes too long. {error}"
        raise type(error)(message, own) from None


def isolating_faults(
    task: Callable[Concatenate[Worker, P], T],
) -> Callable[Concatenate[Caller, P], T]:
    """Convert a task to a function that calls it through ``call_isolating_faults``."""
    parameters = inspect.signature(task)

    @wraps(task)
    def call(engine: Caller, /, *args: P.args, **named: P.kwargs) -> T:
        bound = parameters.bind(None, *args, **named)
        bound.apply_defaults()
        _, request, *others = bound.args
        found: T = call_isolating_faults(engine, task, request, *others)
        return found

    return call


def find_failing_node(engine: Caller, request: PreviewRequest) -> WorkbenchError | None:
    """Run the nodes one by one. Returns the error, with its node if known, or None.

    Raises CancelledError if this run is cancelled.
    """
    try:
        engine.call(run_nodes_separately, request, limit=LIMIT)
    except (WorkerCrashedError, WorkerTimeoutError) as error:
        return _named(error) if error.node else error
    except CancelledError:
        raise
    except WorkbenchError as error:
        return error
    return None


def _named(error: WorkerCrashedError | WorkerTimeoutError) -> WorkbenchError:
    message = (
        f"{error.node}: DALI crashed in this node. Change its values or its inputs, or "
        f"remove it. {error}"
    )
    return type(error)(message, error.nodes)


@task
def run_nodes_separately(worker: Worker, request: PreviewRequest) -> None:
    """Task: run every node in its own pipeline."""
    run_request(worker, request, one_by_one=True)
