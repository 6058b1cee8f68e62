"""Import the Python code that feeds an external source: the live object becomes a node's code.

Used in the worker process only.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from workbench.catalog.schema import enum_names
from workbench.catalog.spec import Value
from workbench.engine.script_import.placeholders import StandIn, replaced
from workbench.engine.script_import.user_code.value_origins import RepeatingWriter, ValueOrigins
from workbench.errors import GraphEditError
from workbench.graph.user_functions.source_writer import (
    CLASS_CODE,
    Construction,
    factory_name,
    is_installed,
    source_function,
)

_created: dict[int, tuple[Any, Construction]] = {}
"""Identity of each object of the script's classes -> the object and its arguments."""
_origins = ValueOrigins()
_UNSUPPORTED = ("cuda_stream", "use_copy_kernel")


@contextmanager
def recording_objects() -> Iterator[None]:
    """Within the context, the arguments of new objects of the script's classes are recorded."""
    build_class: Callable[..., Any] = builtins.__build_class__

    def build(body: FunctionType, name: str, *bases: Any, **options: Any) -> Any:
        made = build_class(body, name, *bases, **options)
        init = vars(made).get("__init__") if isinstance(made, type) else None
        if not is_installed(body):
            setattr(made, CLASS_CODE, body.__code__)
            if isinstance(init, FunctionType) and not hasattr(made, "define_graph"):
                made.__init__ = _recording(init)
        return made

    external: Any = import_module("nvidia.dali.external_source")
    make_group = external._ExternalSourceGroup

    def group(callback: Any, described: Any, *args: Any, **kwargs: Any) -> Any:
        source = getattr(described, "source", None)
        _origins.note((source,), {"source": source}, always=True)
        return make_group(callback, described, *args, **kwargs)

    patched = [(builtins, "__build_class__", build), (external, make_group.__name__, group)]
    try:
        with replaced(patched):
            yield
    finally:
        _created.clear()
        _origins.clear()


def _recording(init: FunctionType) -> Callable[..., None]:
    @wraps(init)
    def record(self: Any, *args: Any, **kwargs: Any) -> None:
        if id(self) not in _created or _created[id(self)][0] is not self:
            keep = _origins.copy_of
            known = Construction(tuple(map(keep, args)), {k: keep(v) for k, v in kwargs.items()})
            _created[id(self)] = self, known
            _origins.note(args, kwargs)
        init(self, *args, **kwargs)

    return record


def _writer() -> RepeatingWriter:
    known = lambda value: _created[id(value)][1] if id(value) in _created else None  # noqa: E731
    return RepeatingWriter(known, _origins)


def python_source_arguments(group: Any, taken: Mapping[str, str]) -> dict[str, Value] | str:
    """Return a node's arguments for a group of external sources, or why it is unsupported.

    ``taken`` maps the names of the functions of other sources to their code.
    """
    first = group.instances[0]
    operator = first._op
    if operator.device != "cpu":
        return "its data are on the GPU"
    source = group.source_desc.source
    if isinstance(source, StandIn):
        return f"its source {source!r} is not available here"
    name = factory_name(source)
    names = [name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))]
    try:
        made = (source_function(source, each, writer=_writer()) for each in names)
        found = next(each for each in made if taken.get(each.name, each.source) == each.source)
    except GraphEditError as error:
        return f"its Python code cannot be stored: {str(error).rstrip('.')}"
    except StopIteration:
        return f"another source has a different function named {name}"
    args: dict[str, Value] = {"function": found.name, "source": found.source}
    if found.creates:
        args["creates"] = True
    if group.is_multioutput and len(group.instances) == 1:
        args["in_tuple"] = True
    if not group.batch:
        args["batch"] = False
    if group.batch_info:
        args["batch_info"] = True
    cycle = group.source_desc.cycle
    if cycle not in (None, False, "no"):
        args["cycle"] = "quiet" if cycle is True else str(cycle)
    if group.parallel:
        args["workers"] = 1
    elif operator._no_copy:
        args["no_copy"] = True
    layouts = tuple(str(each._layout or "") for each in group.instances)
    if any(layouts):
        args["layouts"] = layouts
    dtypes, ndims = (
        _per_output(given, len(layouts)) for given in (operator._dtype, operator._ndim)
    )
    names = [enum_names("DALIDataType").get(int(each), "") if each else "" for each in dtypes]
    if any(name not in ("", "NO_TYPE") for name in names):
        args["dtypes"] = tuple("" if name == "NO_TYPE" else name for name in names)
    if any(each is not None for each in ndims):
        args["ndims"] = tuple(-1 if each is None else int(each) for each in ndims)
    return args


def _per_output(given: Any, count: int) -> list[Any]:
    if not isinstance(given, list | tuple):
        return [given] * count
    return [given[index] if index < len(given) else None for index in range(count)]
