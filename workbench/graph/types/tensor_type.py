"""What flows through a port: element type, layout and shape, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from workbench.catalog.spec import OpSpec, PortKind, Value
from workbench.graph.model import Node

Extents = tuple[int | None, ...]
"""Of each axis; None where only the data tell."""

_USUAL = {2: "HW", 3: "HWC"}
"""What DALI takes data without a layout for, by its number of axes."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """One sample as it leaves a port; None where only the data tell."""

    dtype: str | None = None
    """A member of ``DALIDataType``, such as ``UINT8``."""
    layout: str | None = None
    """``HWC``; empty where DALI gives it none."""
    shape: Extents | None = None
    """Extents; None as a whole where not even their number is known."""
    kind: PortKind = "any"

    @property
    def axes(self) -> str | None:
        """A letter for each axis: the layout, or what DALI takes data without one for."""
        if self.shape is None:
            return self.layout or None
        if self.layout:
            return self.layout if len(self.layout) == len(self.shape) else None
        return None if self.layout is None else _USUAL.get(len(self.shape))

    @property
    def channels(self) -> int | None:
        """Extent along C; 1 where there is no such axis."""
        if self.axes is None or self.shape is None:
            return None
        return self.shape[self.axes.index("C")] if "C" in self.axes else 1

    @property
    def may_be_picture(self) -> bool:
        """Whether rows and columns of pixels may flow here: not, say, a sequence of frames."""
        if self.shape is None:
            return True
        if self.layout is None:
            return len(self.shape) in _USUAL
        return sorted(self.axes or "") in (["C", "H", "W"], ["H", "W"])

    @property
    def may_be_shown(self) -> bool:
        """Whether it may be a picture, a sequence of these, a wave or a spectrogram."""
        if self.may_be_picture:
            return True
        if self.kind == "sound":
            return self.shape is None or len(self.shape) in (1, 2)
        layout = self.layout or ""
        return layout[:1] == "F" and sorted(layout[1:]) in (["C", "H", "W"], ["H", "W"])

    def reshaped(self, shape: Extents | None, layout: str | None) -> TensorType:
        """The same elements in another shape."""
        return TensorType(self.dtype, layout, shape, self.kind)

    def with_extents(self, extents: Mapping[int, int | None]) -> TensorType:
        """With other extents along some axes, by index."""
        if self.shape is None:
            return self
        return replace(
            self, shape=tuple(extents.get(i, extent) for i, extent in enumerate(self.shape))
        )

    def unknown(self) -> TensorType:
        """With nothing known of shape and layout."""
        return TensorType(self.dtype, kind=self.kind)


def type_text(flow: TensorType) -> str:
    """``224×224×3 u8 HWC``, ``?×?×3 u8 HWC``, ``jpeg``, ``label``; ``?`` for what is unknown."""
    if flow.kind == "encoded":
        return "jpeg"
    if flow.kind == "label" and flow.shape == (1,):
        return "label"
    if flow.shape is None and flow.dtype is None:
        return "?"
    extents = ["?"] if flow.shape is None else ["?" if e is None else str(e) for e in flow.shape]
    shown = ["×".join(extents) or "scalar", short_dtype(flow.dtype)]
    if flow.layout and "*" not in flow.layout:
        shown.append(flow.layout)
    return " ".join(shown)


def short_dtype(dtype: str | None) -> str:
    """``u8`` for ``UINT8``, ``f32`` for ``FLOAT``; ``?`` for None."""
    if dtype is None:
        return "?"
    if dtype == "FLOAT":
        return "f32"
    return dtype.lower().replace("uint", "u").replace("int", "i").replace("float", "f")


@dataclass(frozen=True, slots=True)
class TypedCall:
    """A node, its operator and what flows into it: all that a rule may ask for.

    Values may be anything, also what ``check_graph`` will refuse: a rule then knows nothing.
    """

    node: Node
    spec: OpSpec
    fed: Mapping[str, TensorType]
    """By the name of the input or argument."""

    @property
    def first(self) -> TensorType:
        """What flows into the first input."""
        if self.spec.inputs:
            return self.fed.get(self.spec.inputs[0].name, _NOTHING)
        return _NOTHING

    @property
    def positional(self) -> list[TensorType]:
        """What flows into the inputs, in order."""
        return [flow for name, flow in self.fed.items() if name not in self.spec.args]

    def given(self, name: str) -> bool:
        """Whether an argument or input has a value or a link."""
        return name in self.node.args or name in self.node.inputs

    def value(self, name: str) -> Value | None:
        """The fixed value, or DALI's default; None where a link or nothing gives it."""
        if name in self.node.inputs:
            return None
        if name in self.node.args:
            return self.node.args[name]
        arg = self.spec.args.get(name)
        return arg.default if arg is not None else None

    def text(self, name: str) -> str | None:
        """The value, if it is a text."""
        value = self.value(name)
        return value if isinstance(value, str) else None

    def whole(self, name: str) -> Extents | None:
        """The value as a list of whole numbers, None for what is none; None where it is no list.

        A single number is a list of one, as DALI takes it.
        """
        value = self.value(name)
        if value is None:
            return None
        items = value if isinstance(value, tuple) else (value,)
        return tuple(_whole(item) for item in items)

    def chosen(self, flow: TensorType) -> tuple[int, ...] | None:
        """The indices of the axes that ``axes`` or ``axis_names`` choose; None where unknown.

        All axes where neither is given. An own value goes before a default.
        """
        if flow.shape is None or {"axes", "axis_names"} & self.node.inputs.keys():
            return None
        count = len(flow.shape)
        names = self.text("axis_names")
        if "axes" in self.node.args or not names:
            indices = self.whole("axes")
            if indices is None:
                return None if self.given("axes") else tuple(range(count))
            places = tuple(i + count if i is not None and i < 0 else i for i in indices)
        else:
            letters = flow.axes
            if letters is None or not set(names) <= set(letters):
                return None
            places = tuple(letters.index(name) for name in names)
        known = tuple(i for i in places if i is not None and 0 <= i < count)
        return known if len(known) == len(places) else None


_NOTHING = TensorType()


def _whole(item: Value) -> int | None:
    if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) < 2**31:
        return None
    return int(item) if item == int(item) else None


ShapeRule = Callable[[TypedCall, TensorType], TensorType]
"""What an operator does to a shape."""
