"""Import the Python object that feeds an external source as the code of a node.

Used in the worker process only.
"""

from __future__ import annotations

import builtins
import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from workbench.catalog.schema import enum_names
from workbench.catalog.spec import Value
from workbench.engine.script_import.placeholders import StandIn, replaced
from workbench.engine.script_import.user_code.value_origins import (
    EXTERNAL_SOURCE,
    RepeatingWriter,
    ValueOrigins,
)
from workbench.errors import GraphEditError
from workbench.graph.user_functions.function_source import undetermined
from workbench.graph.user_functions.source_writer import (
    CLASS_CODE,
    Construction,
    SourceFunction,
    factory_name,
    is_installed,
    source_function,
)

_created: dict[int, tuple[Any, Construction]] = {}
"""Instances of the script's classes, with the arguments that created them, by ``id``."""
_origins = ValueOrigins()
_states: dict[int, tuple[Any, dict[str, bytes]]] = {}
"""Classes and instances of the script with a digest of each attribute when created, by ``id``."""
_differences: dict[int, str] = {}
"""A description of the attributes that had changed when a source was created, by ``id``."""
_MOST_STATES = 200


@contextmanager
def recording_objects() -> Iterator[None]:
    """Within the context, record the arguments of new instances of the script's classes."""
    build_class: Callable[..., Any] = builtins.__build_class__

    def build(body: FunctionType, name: str, *bases: Any, **options: Any) -> Any:
        made = build_class(body, name, *bases, **options)
        init = vars(made).get("__init__") if isinstance(made, type) else None
        if not is_installed(body):
            setattr(made, CLASS_CODE, body.__code__)
            if isinstance(init, FunctionType) and not hasattr(made, "define_graph"):
                made.__init__ = _recording(init)
            if isinstance(begin := vars(made).get("__iter__"), FunctionType):
                made.__iter__ = _restarting(begin)
            _note_state(made)
        return made

    external: Any = import_module("nvidia.dali.external_source")
    make_group = external._ExternalSourceGroup

    def group(callback: Any, described: Any, *args: Any, **kwargs: Any) -> Any:
        source = getattr(described, "source", None)
        _origins.note(EXTERNAL_SOURCE, (source,), {"source": source})
        for known, state in [*_states.values()]:
            if (found := _difference(known, state)) and id(known) not in _differences:
                _differences[id(known)] = found
        return make_group(callback, described, *args, **kwargs)

    patched = [(builtins, "__build_class__", build), (external, make_group.__name__, group)]
    try:
        with replaced(patched):
            yield
    finally:
        for held in (_created, _states, _differences):
            held.clear()
        _origins.clear()


def _recording(init: FunctionType) -> Callable[..., None]:
    @wraps(init)
    def record(self: Any, *args: Any, **kwargs: Any) -> None:
        if id(self) not in _created or _created[id(self)][0] is not self:
            keep = _origins.copy_of
            known = Construction(tuple(map(keep, args)), {k: keep(v) for k, v in kwargs.items()})
            _created[id(self)] = self, known
            _origins.note(type(self).__name__, args, kwargs)
            init(self, *args, **kwargs)
            _note_state(self)
        else:
            init(self, *args, **kwargs)

    return record


def _restarting(begin: FunctionType) -> Callable[..., Any]:
    """Wrap ``__iter__``, whose changes do not count: each pipeline calls it at its start."""

    @wraps(begin)
    def restart(self: Any) -> Any:
        known = id(self) in _states and not _difference(*_states[id(self)])
        found = begin(self)
        if known:
            _note_state(self)
        return found

    return restart


def _note_state(made: Any) -> None:
    if len(_states) < _MOST_STATES or id(made) in _states:
        _states[id(made)] = made, _state(made)


def _state(made: Any) -> dict[str, bytes]:
    """Return a digest of each attribute. Attributes that cannot be pickled are omitted."""
    found = {}
    for name, value in vars(made).items() if hasattr(made, "__dict__") else ():
        if isinstance(made, type) and (name.startswith("__") or callable(value)):
            continue
        digest = _Digest()
        with suppress(Exception):
            _Pickler(digest, pickle.HIGHEST_PROTOCOL).dump(value)
            found[name] = digest.found.digest()
    return found


def _difference(made: Any, state: dict[str, bytes]) -> str:
    now = _state(made)
    names = [name for name in {**state, **now} if state.get(name) != now.get(name)]
    kind = made if isinstance(made, type) else type(made)
    return (
        f"{names[0]!r} of its {kind.__name__} is set or changed after its creation" if names else ""
    )


class _Digest:
    """A file that computes a digest of what is written to it."""

    def __init__(self) -> None:
        self.found = hashlib.blake2b()

    def write(self, data: Any) -> int:
        self.found.update(data)
        return memoryview(data).nbytes


class _Pickler(pickle.Pickler):
    """Pickles classes and functions of a script, which have no importable name, by name."""

    def reducer_override(self, value: Any) -> Any:
        own = isinstance(value, type | FunctionType) and not is_installed(value)
        return (str, (value.__qualname__,)) if own else NotImplemented


def _writer() -> RepeatingWriter:
    known = lambda value: _created[id(value)][1] if id(value) in _created else None  # noqa: E731
    return RepeatingWriter(known, _origins)


@dataclass
class FedSources:
    """Python sources of one pipeline."""

    functions: dict[str, str] = field(default_factory=dict)
    """Code of each function, by name."""
    objects: dict[int, tuple[Any, str]] = field(default_factory=dict)
    """Objects that change when they are used, with the function that uses them, by ``id``."""

    def add(self, found: SourceFunction, writer: RepeatingWriter) -> str:
        """Add a source, and return how it differs from the script, or an empty text."""
        self.functions[found.name] = found.source
        shared = [each for each in writer.changing if id(each) in self.objects]
        for each in writer.changing:
            self.objects.setdefault(id(each), (each, found.name))
        if shared:
            other = self.objects[id(shared[0])][1]
            return (
                f"it shares a {type(shared[0]).__name__} with {other}. In the graph each has its "
                "own, so they differ from the script if a call changes it"
            )
        if (random := undetermined(found.source)) is not None:
            words = "its values equal those of the script only if the code in the graph seeds it"
            return f"it calls {random.name}: {words}"
        return ""


def python_source_arguments(group: Any, sources: FedSources) -> tuple[dict[str, Value], str] | str:
    """Return a node's arguments for a group of external sources, or why it is unsupported.

    The arguments come with a text about differences. The source is added to ``sources``.
    """
    first = group.instances[0]
    operator = first._op
    if operator.device != "cpu":
        return "its data are on the GPU"
    source = group.source_desc.source
    if isinstance(source, StandIn):
        return f"its source {source!r} is not available here"
    name = factory_name(source)
    taken = sources.functions
    names = [name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))]
    try:
        writers = [(each, _writer()) for each in names]
        made = ((source_function(source, each, writer=own), own) for each, own in writers)
        found, writer = next(
            (each, own) for each, own in made if taken.get(each.name, each.source) == each.source
        )
    except GraphEditError as error:
        return f"its Python code cannot be stored: {str(error).rstrip('.')}"
    except StopIteration:
        return f"another source has a different function named {name}"
    used = [*writer.values.values(), *writer.changing]
    different = dict.fromkeys(_differences[id(each)] for each in used if id(each) in _differences)
    words = [f"{each}, which the graph does not repeat" for each in different]
    changed = "; ".join(filter(None, [sources.add(found, writer), *words]))
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
    return args, changed


def _per_output(given: Any, count: int) -> list[Any]:
    if not isinstance(given, list | tuple):
        return [given] * count
    return [given[index] if index < len(given) else None for index in range(count)]
