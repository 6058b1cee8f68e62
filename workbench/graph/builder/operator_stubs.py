"""Generate ``operators.pyi``, which declares all operators as typed methods for editors and mypy.

``python -m workbench.graph.builder.operator_stubs`` writes the file for the installed DALI.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from workbench.catalog import load_catalog
from workbench.catalog.signatures import accepted_values, type_text
from workbench.catalog.spec import ArgSpec, Catalog, OpSpec
from workbench.graph.model import Settings
from workbench.sources import is_reader

PATH = Path(__file__).parents[1] / "model" / "operators.pyi"
_HEAD = """\
# Written by `python -m workbench.graph.builder.operator_stubs` from DALI {version}; not by hand.
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypedDict, TypeVar

from workbench.graph.builder.data_node import DataNode
from workbench.graph.model import Graph
from workbench.graph.model.bounds import DecodeDevice, Executor
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.block_methods import Apply
from workbench.graph.variants.difference import GraphDifferences
from workbench.preview import OutputBatch
from workbench.sources import Data

R = TypeVar("R")

class EnumMember(Protocol):  # of nvidia.dali.types
    @property
    def name(self) -> str: ...

class Calls(Protocol):
    def attribute(self, owner: Any, name: str) -> Any: ...
    def unbound(self, owner: type, name: str) -> Any: ...
    def names(self, owner: Any) -> list[str]: ...
    def item(self, graph: Any, node_id: str) -> Any: ...
    def call(self, graph: Any, image: object, **options: Any) -> Any: ...
    def shown(self, graph: Any) -> dict[str, str]: ...

def register(calls: Calls) -> None: ...

def operator_function(
    call: Callable[..., Any], spec: Any, bound: bool = False
) -> Callable[..., Any]: ...

class OperatorGroup:
    def __init__(self, members: Mapping[str, Callable[[], Any]], name: str) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
"""
_GRAPH = """\

class GraphMethods(Operators[Graph]):
    def __getitem__(self, node_id: str) -> NodeHandle: ...
    def __call__(self, image: object, *, draw: int = 0, label: int | None = None) -> Any: ...
    def batch(
        self, number: int = 0, samples: int | None = None, data: Data | None = None
    ) -> OutputBatch: ...
    def show(
        self,
        data: Data | None = None,
        *,
        batch: int = 0,
        rows: int | None = None,
        figsize: tuple[float, float] | None = None,
        output: str = "",
    ) -> None: ...
    def save(self, path: str | Path) -> Path: ...
    def diff(self, other: Graph) -> GraphDifferences: ...
    def with_p(self, p: float | DataNode, apply: Apply) -> Graph: ...
    def if_else(
        self, condition: DataNode, then: Apply, otherwise: Apply | None = None
    ) -> Graph: ...
    def one_of(self, *options: Apply, weights: Sequence[float] | None = None) -> Graph: ...
    def some_of(self, count: int, *options: Apply, shuffled: bool = False) -> Graph: ...
    def repeat(
        self, times: int | DataNode, apply: Apply, *, most: int | None = None
    ) -> Graph: ...
    def named(self, name: str, about: str = "") -> Graph: ...
    def __getattr__(self, name: str) -> DataNode: ...  # the graph's outputs
"""


def stub_text(catalog: Catalog) -> str:
    """Return the text of the stub file for a catalogue."""
    groups: dict[str, dict[str, OpSpec]] = {}
    for name, spec in sorted(catalog.items()):
        if not spec.unusable:
            group, _, last = name.rpartition(".")
            groups.setdefault(group, {})[last] = spec
    for group in list(groups):  # for experimental.readers also experimental
        while group:
            group = group.rpartition(".")[0]
            groups.setdefault(group, {})
    parts = [_HEAD.format(version=catalog.dali_version), *_aliases(catalog)]
    for group in sorted(groups, key=lambda name: -name.count(".") - bool(name)):
        parts.append("\n".join(_class_lines(group, groups)))
    decode = _method_lines("decode", catalog["decoders.image"], "Graph")
    parts += [_GRAPH.rstrip(), *_settings_lines(), *decode, "", *_reader_lines(catalog), ""]
    return "\n".join(parts)


def _settings_lines() -> Iterator[str]:
    yield "    def with_settings("
    yield "        self,"
    yield "        *,"
    yield from (f"        {each.name}: {each.type} = ...," for each in fields(Settings))
    yield "    ) -> Graph: ..."


def _reader_lines(catalog: Catalog) -> Iterator[str]:
    """Yield the lines of the ``TypedDict`` of all options that ``workbench.read`` accepts."""
    known: dict[str, dict[str, None]] = {"seed": {"int": None}}
    for name, spec in sorted(catalog.items()):
        if is_reader(name) and not spec.unusable:
            own = ("path", "features", "sampler", "weights")  # parameters of read
            for arg in (arg for arg in spec.args.values() if arg.name not in own):
                known.setdefault(arg.name, {}).update(dict.fromkeys(_type_of(arg).split(" | ")))
    yield "class ReaderOptions(TypedDict, total=False):"
    yield from (f"    {name}: {' | '.join(known[name])}" for name in sorted(known))


def _aliases(catalog: Catalog) -> Iterator[str]:
    """Yield the lines of the ``Literal`` types for the enum members that arguments accept."""
    found = {
        _alias(arg): arg.members
        for spec in catalog.values()
        for arg in spec.args.values()
        if arg.enum and arg.members
    }
    for name, members in sorted(found.items()):
        yield f"{name} = Literal[{', '.join(map(repr, members))}] | EnumMember"
    yield ""


def _alias(arg: ArgSpec) -> str:
    count = len(arg.members)
    name = (arg.enum or "").removeprefix("DALI")
    return name if count == _MOST_MEMBERS.get(name) else f"{name}{count}"


_MOST_MEMBERS = {"DataType": 12, "InterpType": 6, "ImageType": 5}
"""Number of members of each enumeration. If an alias has fewer, its name contains the number."""


def _type_of(arg: ArgSpec) -> str:
    """Return the type annotation of an argument: a Literal if only certain names are accepted."""
    names = accepted_values(arg)
    if not names:
        return type_text(arg)
    one = _alias(arg) if arg.enum else f"Literal[{', '.join(map(repr, names))}]"
    text = f"{one} | Sequence[{one}]" if arg.kind.endswith("_list") else one
    return text + " | DataNode" * arg.tensor + " | None" * (not arg.required)


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


def _method_lines(name: str, spec: OpSpec, result: str = "") -> Iterator[str]:
    known = {"self", *(port.name for port in spec.inputs)}
    arguments = [f"{arg.name}: {_type_of(arg)} = ..." for arg in spec.args.values()
                 if arg.name not in known]  # fmt: skip
    gives = "R" if len(spec.outputs) == 1 and not spec.counted_outputs else "tuple[DataNode, ...]"
    yield f"    def {name}("
    yield "        self,"
    yield "        *inputs: DataNode | Graph,"
    own = {argument.partition(":")[0] for argument in arguments}
    for name in ("seed: int", "device: str | None", "name: str", "p: float | DataNode"):
        if name.partition(":")[0] not in own:
            arguments.append(f"{name} = ...")
    yield from (f"        {argument}," for argument in arguments)
    yield f"    ) -> {result or gives}:"
    summary = spec.summary.replace('"""', "'''").replace("\\", "\\\\").strip()
    yield f'        """{summary}"""'


def main() -> None:
    """Write the stub file next to ``operators.py``."""
    PATH.write_text(stub_text(load_catalog()), encoding="utf-8")


if __name__ == "__main__":
    main()
