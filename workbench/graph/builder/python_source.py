"""Create graphs whose data come from Python code: ``source`` stores a function or class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from workbench.arguments import FLAG, checked
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import Value
from workbench.errors import GraphEditError
from workbench.graph.model import Graph, Source
from workbench.graph.model.ports import output_ports
from workbench.graph.user_functions.source_writer import factory_name, source_function
from workbench.graph.user_functions.trust import own_code_faults, trust_source


@checked(batch=FLAG, creates=FLAG, batch_info=FLAG)
def source(
    function: Callable[..., Any],
    /,
    outputs: str | tuple[str, ...] = "images",
    *,
    batch: bool = True,
    creates: bool = False,
    cycle: Literal["no", "quiet", "raise"] = "no",
    batch_info: bool = False,
    layouts: str | tuple[str, ...] = (),
    dtypes: str | tuple[str, ...] = (),
    workers: int = 0,
) -> Graph:
    """Create a graph whose data come from a Python function, generator or class.

    ::

        def numbered(info):
            rng = np.random.default_rng(info.idx_in_epoch)
            return rng.integers(0, 256, (64, 64, 3), np.uint8), np.array([info.idx_in_epoch])

        graph = wb.source(numbered, ("images", "labels"), batch=False, layouts=("HWC", ""))
        rotated = graph.images.rotate(angle=10)

    The graph stores the code and what it uses: imports, functions, classes, and constants as their
    current values. Exported programs pass the code to ``fn.external_source``.

    Parameters
    ----------
    function:
        A function that returns a batch (or a sample, with ``batch=False``). It accepts no argument
        or its position: a ``SampleInfo`` for samples, a ``BatchInfo`` with ``batch_info``. May be a
        generator function, or a class that is created without arguments and iterable or callable.
    outputs:
        A name for a single array, or a tuple of names for a tuple of arrays. ``jpegs`` are encoded
        images.
    creates:
        True if the function returns an iterable or callable. It is called once for each pipeline.
    cycle:
        What follows the end of an iterable: nothing (``no``), its beginning (``quiet``), or its
        beginning as a new epoch (``raise``).
    layouts, dtypes:
        Layouts such as ``HWC`` and element types such as ``UINT8``, one per output. If they are not
        set, they are known when the source runs.
    workers:
        Number of processes that call it in exported programs (``parallel=True`` of DALI).

    Raises GraphEditError if the code uses a value that cannot be written as code, such as an open
    file, and for an invalid option.
    """
    if not callable(function):
        raise GraphEditError(
            f"wb.source: an object of type {type(function).__name__!r} is not a function. Pass a "
            "function, a generator function or a class; data sets are read by wb.read."
        )
    called = creates or isinstance(function, type)
    try:
        name, text, creates = source_function(function, factory_name(function), called=called)
    except GraphEditError as error:
        words = str(error).rstrip(".")
        words += ", with creates=True" * words.endswith("creates it")
        raise GraphEditError(f"wb.source: {words}.") from None
    named = (outputs,) if isinstance(outputs, str) else tuple(outputs)
    args: dict[str, Value] = {"function": name, "source": text, "outputs": named}
    flags = {"creates": creates, "batch_info": batch_info}
    args |= {key: True for key, value in flags.items() if value}
    if not isinstance(outputs, str) and len(named) == 1:
        args["in_tuple"] = True
    if not batch:
        args["batch"] = False
    if cycle != "no":
        args["cycle"] = cycle
    for key, given in (("layouts", layouts), ("dtypes", dtypes)):
        if given:
            args[key] = (given,) if isinstance(given, str) else tuple(given)
    if workers:
        args["workers"] = workers
    node = Source(_node_id(name), PYTHON_SOURCE.name, args)
    graph = Graph(nodes=(node,))
    trust_source(text)
    faults: Iterable[Any] = own_code_faults(node, graph)
    for fault in faults:
        raise GraphEditError(f"wb.source: {fault.arg}: {fault.text}")
    ports = output_ports(node, load_catalog()[node.op])
    return Graph(nodes=(node,), outputs={port.output: port for port in ports})


def _node_id(function: str) -> str:
    return function.removeprefix("make_") or function
