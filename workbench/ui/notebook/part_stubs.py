"""Write ``part_types.pyi``, which declares the parts of a workbench and their fields for mypy.

The stub file is needed because ipywidgets has no types, and because the fields are created from the
table of components. ``python -m workbench.ui.notebook.part_stubs`` writes the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, is_typeddict

from workbench.ui.contract.components import COMPONENTS, Component
from workbench.ui.contract.selected_samples import SelectedSamples

PATH = Path(__file__).with_name("part_types.pyi")
_HEAD = '''\
# Written by `python -m workbench.ui.notebook.part_stubs`; not by hand.
from collections.abc import Sequence
from typing import Any, Literal, Self

import traitlets

from workbench.graph.model import Graph
from workbench.ui.contract.selected_samples import SelectedSamples
from workbench.ui.state.graph_argument import GraphLike

class Widget(traitlets.HasTraits):
    """What is used of ``ipywidgets.Widget``."""

    layout: Any
    comm: Any
    model_id: str
    def close(self) -> None: ...
    def add_class(self, className: str) -> Self: ...
    def remove_class(self, className: str) -> Self: ...
    def send(self, content: Any, buffers: Any = None) -> None: ...
    def on_msg(self, callback: Any, remove: bool = False) -> None: ...
    def _repr_mimebundle_(self, **kwargs: Any) -> Any: ...

class VBox(Widget):
    children: tuple[Any, ...]
    def __init__(self, children: Sequence[Any] = (), **kwargs: Any) -> None: ...

'''
_TAIL = '''\
class TypedWorkbench(VBox):
    """The attributes of a workbench that no code declares."""

    target: str
    @property
    def graph(self) -> Graph: ...
    @graph.setter
    def graph(self, value: GraphLike) -> None: ...
'''


_SELECTED = (
    "    @property",
    "    def selected(self) -> SelectedSamples: ...",
    "    @selected.setter",
    "    def selected(self, value: SelectedSamples | Sequence[int]) -> None: ...",
)


def stub_text() -> str:
    """Return the text of the stub file."""
    parts = [f"    {each.name}: {each.name.capitalize()}" for each in COMPONENTS]
    classes = ["\n".join(_class_lines(each)) for each in COMPONENTS]
    return _HEAD + "\n\n".join(classes) + "\n\n" + _TAIL + "\n".join(parts) + "\n"


def _class_lines(component: Component) -> Iterator[str]:
    yield f"class {component.name.capitalize()}(Widget):"
    yield f'    """{component.doc}"""'
    for field in component.fields:
        if field.type is SelectedSamples:
            yield from _SELECTED
            continue
        yield f"    {field.name}: {_type_text(field.type)}"
        if field.doc:
            yield f'    """{field.doc}"""'


def _type_text(hint: Any) -> str:
    """Return the type annotation of a field. Payloads are only declared as dicts."""
    if hint in (str, int, float, bool, bytes, SelectedSamples):
        return str(hint.__name__)
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]"
    if get_origin(hint) is list:
        return f"list[{_type_text(get_args(hint)[0])}]"
    return "Any" if isinstance(hint, type) and not is_typeddict(hint) else "dict[str, Any]"


if __name__ == "__main__":
    PATH.write_text(stub_text(), encoding="utf-8")
