"""Provide DALI's operators as methods of graphs, of values of a graph, and of ``workbench.fn``.

``graph.rotate(angle=5)`` and ``graph.noise.gaussian(stddev=20)`` are looked up in the catalogue
when called, so this module names no operator. ``operators.pyi`` has the signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from workbench.catalog.signatures import documentation_of, signature_of
from workbench.catalog.spec import OpSpec
from workbench.errors import UnknownNameError, UnsupportedUseError
from workbench.names import did_you_mean

R = TypeVar("R")
"""Return type of the operator methods: a graph if called on a graph, else a value."""


class Calls(Protocol):
    """Interface of the object that creates operator methods."""

    def attribute(self, owner: Any, name: str) -> Any:
        """Return the output, method or group of methods ``name``, or raise AttributeError."""

    def unbound(self, owner: type, name: str) -> Any:
        """Return the method ``name`` as a function of the instance, or raise AttributeError."""

    def names(self, owner: Any) -> list[str]:
        """Return all names that ``attribute`` accepts."""

    def item(self, graph: Any, node_id: str) -> Any:
        """Return the node with the id ``node_id``, or raise GraphEditError."""

    def call(self, graph: Any, *image: object, **options: Any) -> Any:
        """Apply a graph to one image."""

    def shown(self, graph: Any) -> dict[str, str]:
        """Return the representations of a graph by MIME type, for display in a notebook."""


_calls: list[Calls] = []


def register(calls: Calls) -> None:
    """Set the object that creates operator methods; a higher-level module implements it."""
    _calls[:] = [calls]


class _OperatorsType(type):
    """Metaclass that makes operator methods available on the class, for ``help(Graph.rotate)``."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_") or not _calls:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return _calls[0].unbound(cls, name)

    def __dir__(cls) -> list[str]:
        return sorted({*super().__dir__(), *(_calls[0].names(cls) if _calls else ())})


class Operators(Generic[R], metaclass=_OperatorsType):
    """Base class with every DALI operator as a method."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not _calls:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return _calls[0].attribute(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(_calls[0].names(self) if _calls else ())})


class GraphMethods(Operators[Any]):
    """Additional methods of a graph: access to nodes by id, and display in a notebook."""

    def __getitem__(self, node_id: str) -> Any:
        return _calls[0].item(self, node_id)

    def _no_arithmetic(self, *_: object) -> NoReturn:
        raise UnsupportedUseError(
            "A graph has several outputs, so it does not support arithmetic. Use one "
            "output, graph.images * 0.5, and workbench.outputs(images=...) to get a "
            "graph again."
        )

    def _not_an_array(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedUseError(
            "A graph is not an array, a number or an iterator. Use graph.batch(0).images for "
            "arrays, or wb.loader(graph) for batches."
        )

    __len__ = __float__ = __int__ = __index__ = __next__ = __array__ = _not_an_array

    def __bool__(self) -> bool:
        return True  # without it, bool() would call __len__

    def __contains__(self, node_id: object) -> bool:
        return any(node.id == node_id for node in self.walk())

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _no_arithmetic
    __matmul__ = __pow__ = __floordiv__ = __mod__ = __and__ = __or__ = __xor__ = _no_arithmetic
    __neg__ = __abs__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = _no_arithmetic

    def __call__(self, *image: object, **options: Any) -> Any:
        """Apply the graph to one image; see ``workbench.preview.graph_batches.call``."""
        return _calls[0].call(self, *image, **options)

    def _no_items(self, node_id: object, _: object = None) -> NoReturn:
        raise UnsupportedUseError(
            f"A graph cannot be changed in place. Edits return a new one: graph[{node_id!r}]"
            ".set(ARGUMENT=...) or .remove()."
        )

    __setitem__ = __delitem__ = _no_items

    def _ipython_key_completions_(self) -> list[str]:
        return [node.id for node in self.walk()]

    def __repr__(self) -> str:
        return _calls[0].shown(self)["text/plain"] if _calls else object.__repr__(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return _calls[0].shown(self)


def operator_function(
    call: Callable[..., Any], spec: OpSpec, bound: bool = False
) -> Callable[..., Any]:
    """Return ``call`` as a function with the signature and documentation of an operator.

    ``bound`` is true for a method, whose first input is the graph or value.
    """

    def operator(*inputs: Any, **arguments: Any) -> Any:
        return call(inputs, arguments)

    operator.__name__ = operator.__qualname__ = spec.name.rpartition(".")[2]
    operator.__doc__ = documentation_of(spec)
    vars(operator)["__signature__"] = signature_of(spec, bound)
    vars(operator)["spec"] = spec  # for completion
    return operator


class OperatorGroup:
    """Operators with a common prefix, such as ``noise.gaussian`` and ``noise.shot``."""

    def __init__(self, members: Mapping[str, Callable[[], Any]], name: str) -> None:
        self._members = dict(members)
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return self._members[name]()
        if name.startswith("_"):
            raise AttributeError(name)
        known = ", ".join(self._members)
        hint = did_you_mean(name, self._members, f"It has {known}.")
        raise UnknownNameError(f"{self._name} has no operator {name!r}. {hint}")

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedUseError(
            f"{self._name} is a group of operators. Call one of them: "
            f"{', '.join(f'{self._name}.{each}' for each in self._members)}."
        )

    def __dir__(self) -> list[str]:
        return sorted(self._members)

    def __repr__(self) -> str:
        return f"<operators {self._name}: {', '.join(self._members)}>"
