"""What flows through a port: element type, layout and shape, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


# DALI's rules of arithmetic: operands, element types, broadcasting. They are those of "Type
# Promotion Rules" and "Broadcasting" in the section "Mathematical Expressions" of its
# documentation, tried with DALI 2.4.


def operands(node: Node, spec: OpSpec) -> list[str]:
    """The port or argument at each place of a written expression, from left to right."""
    given = node.args.keys() | node.inputs.keys()
    return [next((name for name in names if name in given), names[-1]) for names in spec.operands]


def operand_types(call: TypedCall) -> list[TensorType]:
    """What stands at each place: a constant is a scalar of the type of the constants."""
    return [
        call.fed[name]
        if name in call.fed
        else TensorType(call.text("constant_type") if name in call.spec.args else None, "", ())
        for name in operands(call.node, call.spec)
    ]


def result_type(dtypes: Sequence[str | None], floating: bool) -> str | None:
    """The element type of a result, or None where that of an operand is not known.

    ``floating`` is for what makes fractions of whole numbers, such as a quotient.
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


def _promoted(one: str, other: str) -> str:
    """Fractions before whole numbers, signed before unsigned with room for both, else the wider."""
    (kind, bits), (other_kind, other_bits) = _TYPES[one], _TYPES[other]
    if kind == other_kind:
        return one if bits >= other_bits else other
    if "float" in (kind, other_kind):
        return one if kind == "float" else other
    signed, unsigned = (bits, other_bits) if kind == "signed" else (other_bits, bits)
    if unsigned == 1:
        return _NAMES["signed", signed]
    return _NAMES["signed", signed if signed > unsigned else min(2 * unsigned, 64)]


def integer_range(dtype: str) -> tuple[int, int]:
    """The least and the greatest constant of a type of whole numbers or truth values.

    DALI hands constants on as INT64, those of type UINT64 too.
    """
    kind, bits = _TYPES[dtype]
    if dtype == "UINT64":
        return 0, 2**63 - 1
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == "signed" else (0, 2**bits - 1)


def broadcast(shapes: Sequence[Extents | None]) -> Extents | None:
    """The shape of a result: aligned at the last axis, an extent of 1 is stretched.

    None where the shape of an operand is not known. Raises ValueError, with the extents, where two
    do not go together.
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    count = max((len(shape) for shape in known), default=0)
    padded = [(1,) * (count - len(shape)) + shape for shape in known]
    return tuple(_stretched(axis) for axis in zip(*padded, strict=True))


def _stretched(extents: tuple[int | None, ...]) -> int | None:
    wide = {extent for extent in extents if extent not in (None, 1)}
    if len(wide) > 1:
        raise ValueError(" and ".join(str(extent) for extent in extents))
    if wide:
        return wide.pop()
    return None if None in extents else 1
