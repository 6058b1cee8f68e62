"""Define frozen data classes for the specifications of operators, arguments and ports."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Literal

from workbench.arguments import Kind
from workbench.catalog.familiar_names import nearest_arguments, nearest_operators
from workbench.errors import CatalogError
from workbench.sources import SAMPLER_OPTIONS, is_reader

Device = Literal["cpu", "gpu", "mixed"]

Scalar = bool | int | float | str
Value = Scalar | tuple["Value", ...]
"""A fixed argument value. Enum members are represented by their names in ``nvidia.dali.types``."""

ArgKind = Literal[
    "bool", "int", "float", "str", "enum",
    "bool_list", "int_list", "float_list", "str_list", "enum_list", "object", "policy",
]  # fmt: skip
"""Type of an argument. ``policy`` is a custom policy for automatic augmentation. Policies are
defined in ``graph.model.policy``."""

Form = Literal["", "flag", "fields", "each", "colour", "range", "matrix", "index", "shown"]
"""Form control of an argument, if its kind allows several. ``flag`` is an integer used as a
boolean. For lists: ``fields`` has one value for each of ``parts``, ``each`` has one value for all
elements or one per element, ``colour`` is a colour, ``range`` has two ends, and ``matrix`` has rows
of numbers. For texts: ``index`` is an index such as ``:, 3:9``; ``shown`` is read-only."""

PortKind = Literal[
    "encoded", "image", "sound", "label", "boxes", "mask", "points", "number", "any"
]  # fmt: skip
"""Kind of data at a port. ``sound`` is a waveform or its spectrogram."""

SHOWN_KINDS: tuple[PortKind, ...] = ("image", "sound")
"""Port kinds that the preview renders as images."""

PortDevice = Literal["operator", "either", "any", "cpu"]
"""Device on which an input's data must be: ``operator`` is the device of the operator, ``either``
is that device or the CPU, ``any`` is any device, because only the shape or type is used, and
``cpu`` is always the CPU."""

FITTING: Mapping[PortKind, frozenset[PortKind]] = {
    "image": frozenset({"mask", "sound"}),  # a mask is read from a file like an image
    "mask": frozenset({"image", "number"}),
    "boxes": frozenset({"number"}),
    "points": frozenset({"number"}),
    "number": frozenset({"label", "boxes", "points", "sound"}),
    "label": frozenset({"number"}),
}
"""Kinds of data that a port accepts in addition to its own kind and ``any``. In DALI, data of all
these kinds are numeric arrays.
"""


def kind_fits(want: PortKind, got: PortKind) -> bool:
    """Return whether data of kind ``got`` can be connected to a port of kind ``want``."""
    return "any" in (want, got) or want == got or got in FITTING.get(want, frozenset())


ShapeWord = Literal[
    "input", "decoded", "resize", "resize_axes", "crop", "pad_channels", "relayout", "recolour",
    "canvas", "pad", "slice", "paste", "paste_many", "filter", "transpose", "reduce",
    "shape", "drawn", "one_hot", "join", "stack", "expand", "squeeze", "reshape", "extract",
    "reorder", "per_frame", "affine", "points", "corner", "broadcast", "subscript",
    "extents", "classes", "frames", "frame_times", "frame_numbers",
]  # fmt: skip
"""Effect of an operator on the shape; ``graph.types.shape_rules`` has a function for each."""


@dataclass(frozen=True, slots=True)
class OutputRule:
    """Static type of an output: element type, layout and shape.

    If the operator's argument ``dtype`` has a value or a default, it replaces the element type.
    """

    dtype: str | None = "input"
    """Element type: a member of ``DALIDataType``, the name of an input with the same type, or a
    word. Words are ``input`` for the type of the first input and, for arithmetic, ``promoted`` from
    all operands or ``floating`` if integers produce floats. None if the type depends on the
    data."""
    layout: str | None = "input"
    """Layout such as ``HWC``, or empty for data without a layout. ``input`` is the input's layout,
    changed by the words in ``shape``. None if the layout depends on the data."""
    shape: tuple[ShapeWord, ...] | tuple[int | None, ...] | None = ("input",)
    """Words or sizes, or None if even the number of axes is unknown. Words are applied from left to
    right to the first input's shape. A size is None if it depends on the data."""


_TENSOR_TYPES = {"int": "INT32", "float": "FLOAT", "DALIInterpType": "INTERP_TYPE"}
"""Element type that DALI requires for a tensor argument, by the argument's kind or enum (tested).
"""

NOTHING_KNOWN = OutputRule(None, None, None)


@dataclass(frozen=True, slots=True)
class Feed:
    """Node to insert as the source of a port or argument if the graph has no suitable node."""

    op: str
    args: Mapping[str, Value] = field(default_factory=dict)
    output: str = "output"


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One named argument of an operator.

    The first fields come from DALI's schema, the others from the overlay.
    """

    name: str
    kind: ArgKind
    doc: str = ""
    required: bool = False
    default: Value | None = None
    """DALI's default value, or None if the schema has no default."""
    tensor: bool = False
    """Whether the argument accepts one value per sample, such as another node's output."""
    deprecated: str | None = None
    """Reason for the deprecation, or None if the argument is not deprecated."""
    enum: str | None = None
    """The enumeration in ``nvidia.dali.types`` whose member names are the allowed values."""
    members: tuple[str, ...] = ()
    """Member names of ``enum`` that the operator supports; ``choices`` may offer fewer."""

    label: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    step: float | None = None
    minimum: float | None = None
    """Smallest number that DALI accepts, alone or in a list. A slider may start at a higher number.
    """
    maximum: float | None = None
    """Largest number that DALI accepts, alone or in a list."""
    choices: tuple[Scalar, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Values that DALI accepts but that must not be used, with the reason."""
    start: Value | None = None
    """Initial value in a new node, or None to leave the argument unset."""
    draw: tuple[float, float] | None = None
    """Initial range when the user makes the argument random."""
    form: Form = ""
    parts: tuple[str, ...] = ()
    """Names of a list's elements (``h``, ``w``) or of a matrix's columns, in order."""
    constant: str | None = None
    """Name of the constant that contains the value in the exported script, or None."""
    advanced: bool = True
    """Whether the inspector hides the argument until the user opens "more"."""
    items: int | None = None
    """Required number of list elements, or None if the number is not fixed."""
    volume_items: int | None = None
    """Required number of list elements for volumes (layouts with a ``D``)."""
    feed: Feed | None = None
    """Node to insert as the source of the argument, if a fixed value is not useful."""
    elements: tuple[str, ...] | None = None
    """Element types that a connected tensor may have; empty for any type, None if ``kind`` decides.
    """

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element types that a connected tensor may have; empty if any type is accepted."""
        if self.elements is not None:
            return self.elements
        dtype = _TENSOR_TYPES.get(self.enum or self.kind.removesuffix("_list"))
        return () if dtype is None else (dtype,)


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One positional input, or one output, of an operator."""

    name: str
    kind: PortKind = "any"
    optional: bool = False
    layouts: tuple[str, ...] = ()
    """Layouts that the schema accepts, such as ``HWC``; empty if the schema lists none."""
    device: PortDevice = "operator"
    """For inputs: the device on which the data must be."""
    dtypes: tuple[str, ...] = ()
    """For inputs: accepted element types; empty if any type is accepted."""
    feed: Feed | None = None
    """For inputs: a node that can be inserted as the source."""
    gives: OutputRule = OutputRule()
    """For outputs: the rule for element type, layout and shape."""
    follows: bool = False
    """For outputs: whether the output has the kind of the first input."""
    needs: str = ""
    """For outputs: the optional input or boolean argument without which the output is missing."""


@dataclass(frozen=True, slots=True)
class OpSpec:
    """Specification of one operator of the catalogue."""

    name: str
    """Name as in ``nvidia.dali.fn``, such as ``rotate``, ``readers.file`` or ``random.uniform``."""
    schema: str
    """Name in DALI's registry, such as ``readers__File``; empty for Python expressions."""
    devices: tuple[Device, ...]
    inputs: tuple[PortSpec, ...] = ()
    max_inputs: int = 0
    """Maximum number of inputs. Larger than ``len(inputs)`` for operators with any number of
    inputs, such as ``cat``. Their unnamed inputs are called ``input_2``, ``input_3``, ..."""
    outputs: tuple[PortSpec, ...] = ()
    args: Mapping[str, ArgSpec] = field(default_factory=dict)
    """Arguments by name. ``seed`` is not included, because the graph sets it (see ``seeded``)."""
    seeded: bool = False
    """Whether the operator accepts a seed."""
    random_state: bool = False
    """Whether the operator has a Philox generator, whose position ``_random_state`` sets."""
    doc: str = ""
    summary: str = ""
    category: str = "other"
    label: str = ""
    synonyms: tuple[str, ...] = ()
    """Names of the operator in other libraries."""
    image: bool = False
    """Whether the operator has one image input and one image output, so that it fits into a chain.
    """
    alters: bool = True
    """Whether the initial argument values visibly change an image; False for ``copy``."""
    needs_channels: int | str | None = None
    """Required number of channels (DALI crashes with any other), or the argument that sets it."""
    mutually_exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports that exclude each other: ``size`` and ``resize_shorter``."""
    together: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments that must be set together, such as ``crop_h`` and ``crop_w``."""
    one_of: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports; at least one of each group must be set."""
    same_dtype: tuple[tuple[str, ...], ...] = ()
    """Groups of ports that must have equal element types, such as ``anchor`` and ``shape_input``.
    If the operator has any number of inputs, the unnamed ones belong to the last port's group."""
    whole_batch: bool = False
    """Whether the result for a sample depends on the other samples of its batch."""
    module: str = ""
    """Module of a function of ``nvidia.dali.auto_aug``; empty for other operators."""
    expression: str = ""
    """Python expression with ``{}`` for each operand, such as ``{} + {}`` or ``math.sqrt({})``.
    Empty if the operator is a call of ``fn`` in the exported code."""
    operands: tuple[tuple[str, ...], ...] = ()
    """Ports and arguments for each ``{}`` in ``expression``; the first that is set is used."""
    written_numbers: Mapping[str, str] = field(default_factory=dict)
    """Argument that receives an integer passed as an input (``fn.random.choice(3)``), by input."""
    stays: bool = False
    """Whether the operator runs on the CPU even with GPU inputs, unless its device is set."""
    counted_outputs: str = ""
    """Argument with the number of outputs: ``output``, or ``output_0``, ``output_1`` and so on."""
    named_outputs: str = ""
    """Argument with the names of the outputs, if a node chooses them."""
    bodies: tuple[str, ...] = ()
    """For blocks (``extra_operators.BLOCKS``): the names of their bodies."""
    numbered_bodies: bool = False
    """Whether a block may have more than two bodies, which are then numbered: ``option_2``, ..."""
    consecutive: bool = False
    """For blocks: whether each body runs on the output of the previous body."""
    follows: PortKind | None = None
    """For ``FOLLOWERS``: the kind of annotation that the operator transforms with an image."""
    unusable: str | None = None
    """Reason why the workbench does not support the operator, or None if it does."""

    def body_names(self, count: int) -> tuple[str, ...]:
        if not self.numbered_bodies:
            return self.bodies
        stem = self.bodies[0].rpartition("_")[0]
        return tuple(f"{stem}_{index}" for index in range(max(len(self.bodies), count)))

    @property
    def reads(self) -> bool:
        """Whether the operator is a reader, which starts a pipeline with external data."""
        return is_reader(self.name)

    def conflicts_with(self, arg: str) -> frozenset[str]:
        """Return the arguments and ports that cannot be set together with ``arg``."""
        return frozenset(
            name for group in self.mutually_exclusive if arg in group for name in group
        ) - {arg}

    def argument_hint(self, name: str) -> str:
        """Suggest an argument for a wrong name, or list the arguments that are not advanced."""
        if self.reads and name in SAMPLER_OPTIONS:
            return "It reads samples in order, and a sampler needs any order: use image files."
        if near := nearest_arguments(name, self.args):
            return f"Did you mean {near[0]}?"
        basic = [each for each, arg in self.args.items() if not arg.advanced] or [*self.args]
        return f"It has {', '.join(basic) or 'none'}."

    def outputs_with(self, fed: Collection[str], args: Mapping[str, Value]) -> tuple[PortSpec, ...]:
        """Return the outputs of a node with these arguments and the connected inputs ``fed``."""
        return tuple(
            port
            for port in self.outputs
            if not port.needs or port.needs in fed or args.get(port.needs, False) not in _OFF
        )

    def input(self, index: int) -> PortSpec:
        """Return the input at a position. Inputs after the named ones are called ``input_N``."""
        if index < len(self.inputs):
            return self.inputs[index]
        if self.follows:
            return PortSpec(f"input_{index}", "any", True, device="any")
        return PortSpec(f"input_{index}", self.inputs[-1].kind if self.inputs else "any", True)


_OFF = (False, None, "none")
"""Values for which an argument adds no output."""
MOST_OPAQUE_OUTPUTS = 16


def _opaque(count: int) -> OpSpec:
    names = ["output"] if count == 1 else [f"output_{index}" for index in range(count)]
    texts = {
        "call": ("Call", "The call."),
        "source": ("Source", "Its location and source text."),
        "why": ("Why", "Why the graph cannot represent it."),
    }
    return OpSpec(
        name=f"opaque.{count}",
        schema="",
        devices=("cpu", "gpu"),
        max_inputs=99,
        outputs=tuple(PortSpec(name, gives=NOTHING_KNOWN) for name in names),
        args={
            name: ArgSpec(name, "str", doc, label=label, form="shown", advanced=False)
            for name, (label, doc) in texts.items()
        },
        summary="This node represents code that the graph cannot contain.",
        label="Code",
        unusable="it represents code that the graph cannot contain",
    )


OPAQUE: Mapping[str, OpSpec] = {
    spec.name: spec for spec in map(_opaque, range(MOST_OPAQUE_OUTPUTS + 1))
}
"""Operators ``opaque.N``, which represent imported code that a graph cannot contain. They have any
number of inputs (``input_0``, ...) and N outputs (``output``, or ``output_0``, ...). Such nodes can
be stored and displayed, but can neither run nor be added by users."""


class Catalog(Mapping[str, OpSpec]):
    """Mapping of operator names to specifications.

    An unknown name raises CatalogError, which suggests similar names. ``opaque.N`` and ``blocks``
    can be looked up but are not listed.

    ::

        catalog = wb.load_catalog()
        assert catalog["rotate"].args["angle"].unit == "°"
    """

    def __init__(
        self,
        ops: Mapping[str, OpSpec],
        dali_version: str,
        blocks: Mapping[str, OpSpec] | None = None,
    ) -> None:
        self._ops = dict(ops)
        self._unlisted = {**OPAQUE, **(blocks or {})}
        self.dali_version = dali_version

    def __getitem__(self, name: str) -> OpSpec:
        spec = self.find(name)
        if spec is not None:
            return spec
        near = nearest_operators(str(name), self._ops, 3)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise CatalogError(f"{name!r} is not an operator of DALI {self.dali_version}.{hint}")

    def find(self, name: str) -> OpSpec | None:
        """Return the operator ``name``, or None if there is none.

        ::

            assert wb.load_catalog().find("rotat") is None
        """
        return self._ops.get(name) or self._unlisted.get(name)

    def __repr__(self) -> str:
        usable = sum(not spec.unusable for spec in self._ops.values())
        return f"<catalogue of DALI {self.dali_version}: {len(self)} operators, {usable} usable>"

    def _repr_html_(self) -> str:
        groups: dict[str, list[str]] = {}
        for name, spec in self.items():
            groups.setdefault(spec.category, []).append(name)
        rows = (
            f"<tr><th>{escape(group)}</th><td>{escape(', '.join(sorted(names)))}</td></tr>"
            for group, names in sorted(groups.items())
        )
        return f"<p>{escape(repr(self)[1:-1])}</p><table>{''.join(rows)}</table>"

    @cached_property
    def by_schema(self) -> Mapping[str, OpSpec]:
        """Operators by their names in DALI's registry, such as ``readers__File``."""
        return {spec.schema: spec for spec in self._ops.values()}

    @cached_property
    def seeded_schemas(self) -> frozenset[str]:
        """Registry names of operators that get a seed from DALI if the pipeline sets none."""
        of_ours = "external_source"  # its reader shuffles in Python
        return frozenset(o.schema for o in self._ops.values() if o.seeded and o.name != of_ours)

    def __contains__(self, name: object) -> bool:
        return name in self._ops or name in self._unlisted

    def __iter__(self) -> Iterator[str]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)


CATALOG: Kind = Kind.of("workbench.load_catalog()", Catalog)
