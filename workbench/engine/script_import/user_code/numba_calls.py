"""Import ``numba_function`` from a script by storing its functions without compiling them.

DALI's plugin compiles the functions while the pipeline is built, and stores only machine code.
Therefore a module that does not need numba replaces the plugin while a script runs.

Used in the worker process only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from workbench.catalog.extra_operators.user_functions import NUMBA_FUNCTION
from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.calls.user_functions import sources_together
from workbench.engine.script_import.placeholders import replaced
from workbench.errors import GraphEditError
from workbench.graph.user_functions.function_source import function_source

_PLUGIN = "nvidia.dali.plugin.numba"
_PARTS = ("", ".fn", ".fn.experimental", ".experimental")
_GIVEN = ("in_types", "out_types", "ins_ndim", "outs_ndim")
_ON_GPU = ("blocks", "threads_per_block")
_KEPT = frozenset({"run_fn", "setup_fn", "batch_processing", *_GIVEN, *_ON_GPU})
"""Arguments that are stored in the node and not passed to DALI, because nothing is compiled."""


@contextmanager
def recording_numba_calls() -> Iterator[None]:
    """Within the context, calls of the plugin create operators that store their arguments."""
    plugin = _modules()
    usual = {name: sys.modules[name] for name in plugin if name in sys.modules}
    sys.modules.update(plugin)
    try:
        with replaced([(import_module("nvidia.dali.plugin"), "numba", plugin[_PLUGIN])]):
            yield
    finally:
        for name in plugin:
            sys.modules.pop(name, None)
        sys.modules.update(usual)


def numba_arguments(op: Any) -> dict[str, Value] | str:
    """Return a node's arguments for a numba operator, or the reason why it cannot be imported.

    An operator that DALI's own plugin created cannot be imported, because the plugin does not store
    the source code. For other operators, the result is empty.
    """
    given = getattr(op, "workbench_given", None)
    if given is None:
        return _held(vars(op), op.device) if type(op).__module__ == _PLUGIN else {}
    try:
        run = function_source(given["run_fn"], imports_inside=False)
        setup_fn = given.get("setup_fn")
        setup = function_source(setup_fn, imports_inside=False) if setup_fn is not None else ""
    except GraphEditError as error:
        return str(error).rstrip(".")
    args = _held(given, op.device)
    args |= {"function": given["run_fn"].__name__, "source": sources_together(run, setup)}
    if setup_fn is not None:
        args["setup_fn"] = setup_fn.__name__
    return args


def _held(arguments: Mapping[str, Any], device: str) -> dict[str, Value]:
    args: dict[str, Value] = {
        "num_outputs": len(_as_list(arguments["out_types"])),
        **{name: tuple(map(int, _as_list(arguments[name]))) for name in _GIVEN},
    }
    if arguments.get("batch_processing"):
        args["batch_processing"] = True
    if device == "gpu":
        args |= {name: tuple(map(int, arguments[name])) for name in _ON_GPU if arguments.get(name)}
    return args


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _modules() -> dict[str, ModuleType]:
    from nvidia.dali import ops

    base: Any = ops.python_op_factory(  # type: ignore[attr-defined]
        "NumbaFunctionBase", "NumbaFunction", "NumbaFuncImpl", generated=False
    )

    def init(op: Any, run_fn: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        names = ("out_types", "in_types", "outs_ndim", "ins_ndim", "setup_fn", "device")
        stored = {"run_fn": run_fn, **dict(zip(names, arguments, strict=False)), **named}
        rest = {name: value for name, value in stored.items() if name not in _KEPT}
        base.__init__(op, **rest)
        op.workbench_given = stored
        op.num_outputs = len(_as_list(stored["out_types"]))
        op._preserve = True

    def call(op: Any, *inputs: Any, **named: Any) -> Any:
        counts = {name: op.workbench_given[name] for name in _GIVEN}
        return base.__call__(op, *inputs, run_fn=0, **counts, **named)

    operator = type(
        "NumbaFunction",
        (base,),
        {
            "__module__": _PLUGIN,
            "_impl_module": _PLUGIN,
            "__init__": init,
            "__call__": call,
        },
    )

    def numba_function(*inputs: Any, **arguments: Any) -> Any:
        names = {"_module": f"{_PLUGIN}.fn", "_display_name": NUMBA_FUNCTION.name}
        return operator(**arguments, **names)(*inputs)

    modules = {f"{_PLUGIN}{part}": ModuleType(f"{_PLUGIN}{part}") for part in _PARTS}
    for name, module in modules.items():
        wrapped = numba_function if ".fn" in name else operator
        setattr(module, wrapped.__name__, wrapped)
    plugin = modules[_PLUGIN]
    plugin.__path__ = []
    plugin.fn = modules[f"{_PLUGIN}.fn"]  # type: ignore[attr-defined]
    plugin.experimental = modules[f"{_PLUGIN}.experimental"]  # type: ignore[attr-defined]
    plugin.fn.__path__ = []
    plugin.fn.experimental = modules[f"{_PLUGIN}.fn.experimental"]
    return modules
