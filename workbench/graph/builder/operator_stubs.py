"""Writes ``operators.pyi``: every operator as a typed method, so that editors and mypy know them.

``python -m workbench.graph.builder.operator_stubs`` writes it from the installed DALI.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from pathlib import Path

from workbench.catalog import load_catalog
from workbench.catalog.signatures import type_text
from workbench.catalog.spec import Catalog, OpSpec

PATH = Path(__file__).parents[1] / "model" / "operators.pyi"
_HEAD = """\
# Written by `python -m workbench.graph.builder.operator_stubs` from DALI {version}; not by hand.
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from workbench.graph.builder.data_node import DataNode
from workbench.graph.model import Graph
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.block_methods import Apply

R = TypeVar("R")

class Calls(Protocol):
    def attribute(self, owner: Any, name: str) -> Any: ...
    def names(self, owner: Any) -> list[str]: ...
    def item(self, graph: Any, node_id: str) -> Any: ...
    def shown(self, graph: Any) -> dict[str, str]: ...

def register(calls: Calls) -> None: ...

class Operator:
    def __init__(self, call: Callable[..., Any], spec: Any) -> None: ...
    def __call__(self, *inputs: Any, **arguments: Any) -> Any: ...

class OperatorGroup:
    def __init__(self, members: Mapping[str, Callable[[], Any]], name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
"""
_GRAPH = """\

class GraphMethods(Operators[Graph]):
    def __getitem__(self, node_id: str) -> NodeHandle: ...
    def with_p(self, p: float | DataNode, apply: Apply) -> Graph: ...
    def if_else(
        self, condition: DataNode, then: Apply, otherwise: Apply | None = None
    ) -> Graph: ...
    def one_of(self, *options: Apply, weights: Sequence[float] | None = None) -> Graph: ...
    def some_of(self, count: int, *options: Apply, shuffled: bool = False) -> Graph: ...
    def repeat(
        self, times: int | DataNode, apply: Apply, *, most: int | None = None
    ) -> Graph: ...
    def decode(self, **arguments: Any) -> Graph: ...
    def named(self, name: str, about: str = "") -> Graph: ...
    def with_settings(self, **settings: Any) -> Graph: ...
    def __getattr__(self, name: str) -> DataNode: ...  # the graph's outputs
"""


def stub_text(catalog: Catalog) -> str:
    """The stub for a catalogue."""
    groups: dict[str, dict[str, OpSpec]] = {}
    for name, spec in sorted(catalog.items()):
        if not spec.unusable:
            group, _, last = name.rpartition(".")
            groups.setdefault(group, {})[last] = spec
    for group in list(groups):  # of experimental.readers also experimental
        while group:
            group = group.rpartition(".")[0]
            groups.setdefault(group, {})
    parts = [_HEAD.format(version=catalog.dali_version)]
    for group in sorted(groups, key=lambda name: -name.count(".") - bool(name)):
        parts.append("\n".join(_class_lines(group, groups)))
    return "\n".join(parts) + _GRAPH


def _class_lines(group: str, groups: Mapping[str, Mapping[str, OpSpec]]) -> Iterator[str]:
    yield f"class {_class_name(group)}(Generic[R]):"
    inner = [g for g in sorted(groups) if g and g.rpartition(".")[0] == group]
    for each in inner:
        yield "    @property"
        yield f"    def {each.rpartition('.')[2]}(self) -> {_class_name(each)}[R]: ..."
    for name, spec in groups[group].items():
        if not keyword.iskeyword(name):
            yield from _method_lines(name, spec)
    if not inner and not groups[group]:
        yield "    ..."


def _class_name(group: str) -> str:
    words = group.replace(".", "_").split("_")
    return (
        f"{''.join(word.capitalize() for word in words if word)}Operators" if group else "Operators"
    )


def _method_lines(name: str, spec: OpSpec) -> Iterator[str]:
    known = {"self", *(port.name for port in spec.inputs)}
    arguments = [f"{arg.name}: {type_text(arg)} = ..." for arg in spec.args.values()
                 if arg.name not in known]  # fmt: skip
    gives = "R" if len(spec.outputs) == 1 and not spec.counted_outputs else "tuple[DataNode, ...]"
    yield f"    def {name}("
    yield "        self,"
    yield "        *inputs: DataNode | Graph,"
    own = {argument.partition(":")[0] for argument in arguments}
    for name in ("seed: int", "device: str | None", "name: str"):
        if name.partition(":")[0] not in own:
            arguments.append(f"{name} = ...")
    yield from (f"        {argument}," for argument in arguments)
    yield f"    ) -> {gives}:"
    summary = spec.summary.replace('"""', "'''").replace("\\", "\\\\").strip()
    yield f'        """{summary}"""'


def main() -> None:
    """Write the stub beside ``operators.py``."""
    PATH.write_text(stub_text(load_catalog()), encoding="utf-8")


if __name__ == "__main__":
    main()
