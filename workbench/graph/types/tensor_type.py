"""Represent the type at a port: element type, layout and shape, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.catalog.spec import OpSpec, PortKind, Value
from workbench.graph.model import Node

Extents = tuple[int | None, ...]
"""The size of each axis, or None if it depends on the data."""

_USUAL = {2: "HW", 3: "HWC"}
"""Layout that DALI assumes for data without a layout, by number of axes."""


@dataclass(frozen=True, slots=True)
class TensorType:
    """The type of one sample at a port. A property that depends on the data is None."""

    dtype: str | None = None
    """Member of ``DALIDataType``, such as ``UINT8``."""
    layout: str | None = None
    """Axis letters, such as ``HWC``; empty for data without a layout in DALI."""
    shape: Extents | None = None
    """The size of each axis, or None if even the number of axes is unknown."""
    kind: PortKind = "any"

    @property
    def axes(self) -> str | None:
        """One letter per axis: the layout, or the layout that DALI assumes for data without one."""
        if self.shape is None:
            return self.layout or None
        if self.layout:
            return self.layout if len(self.layout) == len(self.shape) else None
        return None if self.layout is None else _USUAL.get(len(self.shape))

    @property
    def channels(self) -> int | None:
        """Size of the axis C, or 1 if there is no such axis."""
        if self.axes is None or self.shape is None:
            return None
        return self.shape[self.axes.index("C")] if "C" in self.axes else 1

    @property
    def may_be_picture(self) -> bool:
        """Whether data of this type may be single images instead of sequences."""
        if self.shape is None:
            return True
        if self.layout is None:
            return len(self.shape) in _USUAL
        return sorted(self.axes or "") in (["C", "H", "W"], ["H", "W"])

    @property
    def may_be_shown(self) -> bool:
        """Whether data of this type may be images, an image sequence, sound or a spectrogram."""
        if self.may_be_picture:
            return True
        if self.kind == "sound":
            return self.shape is None or len(self.shape) in (1, 2)
        layout = self.layout or ""
        return layout[:1] == "F" and sorted(layout[1:]) in (["C", "H", "W"], ["H", "W"])

    def reshaped(self, shape: Extents | None, layout: str | None) -> TensorType:
        return TensorType(self.dtype, layout, shape, self.kind)

    def with_extents(self, extents: Mapping[int, int | None]) -> TensorType:
        """Return a copy with changed sizes; ``extents`` maps axis indices to sizes."""
        if self.shape is None:
            return self
        return replace(
            self, shape=tuple(extents.get(i, extent) for i, extent in enumerate(self.shape))
        )

    def unknown(self) -> TensorType:
        return TensorType(self.dtype, kind=self.kind)


def type_text(flow: TensorType) -> str:
    """Format a type for display: ``224×224×3 u8 HWC``, ``?×?×3 u8 HWC``, ``jpeg``, ``label``.

    Unknown properties are shown as ``?``.
    """
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
    """Abbreviate an element type: ``u8`` for ``UINT8``, ``f32`` for ``FLOAT``, ``?`` for None."""
    if dtype is None:
        return "?"
    if dtype == "FLOAT":
        return "f32"
    return dtype.lower().replace("uint", "u").replace("int", "i").replace("float", "f")


@dataclass(frozen=True, slots=True)
class TypedCall:
    """Arguments of a shape rule: a node, its operator and its input types.

    Values may be invalid, because rules run before ``check_graph`` rejects them. A rule then
    returns unknown sizes.
    """

    node: Node
    spec: OpSpec
    fed: Mapping[str, TensorType]
    """Types of the connected inputs and arguments, by name."""

    @property
    def first(self) -> TensorType:
        """The type of the first input."""
        if self.spec.inputs:
            return self.fed.get(self.spec.inputs[0].name, _NOTHING)
        return _NOTHING

    @property
    def positional(self) -> list[TensorType]:
        """Types of the connected positional inputs, in order."""
        return [flow for name, flow in self.fed.items() if name not in self.spec.args]

    def is_set(self, name: str) -> bool:
        """Return whether an argument or input has a value or a link."""
        return name in self.node.args or name in self.node.inputs

    def value(self, name: str) -> Value | None:
        """Return the argument's fixed value or DALI's default, or None if it is linked or unset."""
        if name in self.node.inputs:
            return None
        if name in self.node.args:
            return self.node.args[name]
        arg = self.spec.args.get(name)
        return arg.default if arg is not None else None

    def text(self, name: str) -> str | None:
        """Return the argument's value, or None if it is not a string."""
        value = self.value(name)
        return value if isinstance(value, str) else None

    def integers(self, name: str) -> Extents | None:
        """Return the argument's value as a tuple of integers, with None for other elements.

        A single number becomes a tuple of one element, as in DALI. Returns None if the argument has
        no fixed value.
        """
        value = self.value(name)
        if value is None:
            return None
        items = value if isinstance(value, tuple) else (value,)
        return tuple(_integer(item) for item in items)

    def selected_axes(self, flow: TensorType) -> tuple[int, ...] | None:
        """Return the indices of the axes that ``axes`` or ``axis_names`` selects, or None.

        If neither is set, all axes are selected. An explicit value takes precedence over a default.
        Returns None if the axes are unknown.
        """
        if flow.shape is None or {"axes", "axis_names"} & self.node.inputs.keys():
            return None
        count = len(flow.shape)
        names = self.text("axis_names")
        if "axes" in self.node.args or not names:
            indices = self.integers("axes")
            if indices is None:
                return None if self.is_set("axes") else tuple(range(count))
            places = tuple(i + count if i is not None and i < 0 else i for i in indices)
        else:
            letters = flow.axes
            if letters is None or not set(names) <= set(letters):
                return None
            places = tuple(letters.index(name) for name in names)
        known = tuple(i for i in places if i is not None and 0 <= i < count)
        return known if len(known) == len(places) else None


_NOTHING = TensorType()


def _integer(item: Value) -> int | None:
    if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) < 2**31:
        return None
    return int(item) if item == int(item) else None


ShapeRule = Callable[[TypedCall, TensorType], TensorType]
"""Function of a call and its input type that returns the operator's output type."""


# DALI's rules of arithmetic: operands, element types, broadcasting.
#
# They follow "Type Promotion Rules" and "Broadcasting" in the section "Mathematical Expressions" of
# DALI's documentation, and were tested with DALI 2.4.


def operands(node: Node, spec: OpSpec) -> list[str]:
    """Return the input or argument names of an arithmetic expression's operands, left to right."""
    given = node.args.keys() | node.inputs.keys()
    return [next((name for name in names if name in given), names[-1]) for names in spec.operands]


def operand_types(call: TypedCall) -> list[TensorType]:
    """Return the types of an expression's operands. A constant is a ``constant_type`` scalar."""
    return [
        call.fed[name]
        if name in call.fed
        else TensorType(call.text("constant_type") if name in call.spec.args else None, "", ())
        for name in operands(call.node, call.spec)
    ]


def result_type(dtypes: Sequence[str | None], floating: bool) -> str | None:
    """Return the element type of an arithmetic result, or None if an operand's type is unknown.

    ``floating`` is true for operations that convert integers to floats, such as division.
    """
    result: str | None = None
    for dtype in dtypes:
        if dtype is None or dtype not in _TYPES:
            return None
        result = dtype if result is None else _promoted(result, dtype)
    if floating and result is not None and not result.startswith("FLOAT"):
        return "FLOAT"
    return result


_TYPES = {
    "BOOL": ("unsigned", 1),
    **{f"UINT{bits}": ("unsigned", bits) for bits in (8, 16, 32, 64)},
    **{f"INT{bits}": ("signed", bits) for bits in (8, 16, 32, 64)},
    "FLOAT": ("float", 32),
    "FLOAT64": ("float", 64),
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def _promoted(first: str, second: str) -> str:
    """Return the element type of arithmetic on two types, by DALI's promotion rules.

    Floats take precedence over integers, and wider types over narrower ones. Signed and unsigned
    integers become a signed type that represents both, at most INT64.
    """
    (kind, bits), (other_kind, other_bits) = _TYPES[first], _TYPES[second]
    if kind == other_kind:
        return first if bits >= other_bits else second
    if "float" in (kind, other_kind):
        return first if kind == "float" else second
    signed, unsigned = (bits, other_bits) if kind == "signed" else (other_bits, bits)
    if unsigned == 1:
        return _NAMES["signed", signed]
    return _NAMES["signed", signed if signed > unsigned else min(2 * unsigned, 64)]


def integer_range(dtype: str) -> tuple[int, int]:
    """Return the minimum and maximum that a constant of an integer or bool type may have.

    DALI passes constants as INT64, even constants of type UINT64.
    """
    kind, bits = _TYPES[dtype]
    if dtype == "UINT64":
        return 0, 2**63 - 1
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == "signed" else (0, 2**bits - 1)


def broadcast(shapes: Sequence[Extents | None]) -> Extents | None:
    """Return the shape that results from broadcasting, or None if an operand's shape is unknown.

    Shapes are aligned at the last axis, and sizes of 1 expand. Raises ValueError if two sizes do
    not match.
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    count = max((len(shape) for shape in known), default=0)
    padded = [(1,) * (count - len(shape)) + shape for shape in known]
    return tuple(_broadcast_extent(axis) for axis in zip(*padded, strict=True))


def _broadcast_extent(extents: tuple[int | None, ...]) -> int | None:
    wide = {extent for extent in extents if extent not in (None, 1)}
    if len(wide) > 1:
        raise ValueError(" and ".join(str(extent) for extent in extents))
    if wide:
        return wide.pop()
    return None if None in extents else 1
