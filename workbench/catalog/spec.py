"""What the workbench knows of an operator, an argument and a port: plain frozen data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Literal

from workbench.arguments import Kind
from workbench.catalog.familiar_names import nearest_operators
from workbench.errors import CatalogError
from workbench.sources import is_reader

Device = Literal["cpu", "gpu", "mixed"]

Scalar = bool | int | float | str
Value = Scalar | tuple["Value", ...]
"""A fixed argument value. Enum members stand as their names in ``nvidia.dali.types``."""

ArgKind = Literal[
    "bool", "int", "float", "str", "enum",
    "bool_list", "int_list", "float_list", "str_list", "enum_list", "object", "policy",
]  # fmt: skip
"""``policy`` is one's own for automatic augmentation: see ``graph.policy``."""

Form = Literal["", "flag", "fields", "each", "colour", "range", "matrix", "index", "shown"]
"""How an argument is edited, where its kind alone does not say: ``flag`` is a whole number that
means yes or no; lists are one value for each of ``parts`` (``fields``), the same or one value for
each of them (``each``), a colour, a low and a high end (``range``) or rows of numbers
(``matrix``); a text is an ``index`` such as ``:, 3:9``, or only ``shown``."""

PortKind = Literal[
    "encoded", "image", "sound", "label", "boxes", "mask", "points", "number", "any"
]  # fmt: skip
"""``sound`` is a wave, or a spectrogram of one."""

SHOWN_KINDS: tuple[PortKind, ...] = ("image", "sound")
"""What is shown as pictures."""

PortDevice = Literal["operator", "either", "any", "cpu"]
"""On which side the data of an input must lie: where the operator runs; there or on the CPU; on
any, for only its shape or type is looked at; on the CPU always."""

FITTING: Mapping[PortKind, frozenset[PortKind]] = {
    "image": frozenset({"mask", "sound"}),  # a mask is read from a file as an image is
    "mask": frozenset({"image", "number"}),
    "boxes": frozenset({"number"}),
    "points": frozenset({"number"}),
    "number": frozenset({"label", "boxes", "points", "sound"}),
    "label": frozenset({"number"}),
}
"""Kinds that a port takes besides its own and ``any``: DALI sees arrays of numbers in all these."""


def kind_fits(want: PortKind, got: PortKind) -> bool:
    """Whether what flows out as ``got`` may flow into a port of ``want``."""
    return "any" in (want, got) or want == got or got in FITTING.get(want, frozenset())


ShapeWord = Literal[
    "input", "decoded", "resize", "resize_axes", "crop", "pad_channels", "relayout", "recolour",
    "canvas", "pad", "slice", "paste", "paste_many", "filter", "transpose", "reduce",
    "shape", "drawn", "one_hot", "join", "stack", "expand", "squeeze", "reshape", "extract",
    "reorder", "per_frame", "affine", "points", "corner", "broadcast", "subscript",
    "extents", "classes",
]  # fmt: skip
"""What an operator does to the shape; ``graph.types.shape_rules`` has a function for each."""


@dataclass(frozen=True, slots=True)
class OutputRule:
    """What comes out of a port, as far as it can be told before anything has run.

    The argument ``dtype`` of the operator, where it is set or has a default, goes before ``dtype``.
    """

    dtype: str | None = "input"
    """A member of ``DALIDataType``, the name of the input that it is taken from, ``input`` for the
    first one, or None where only the data tell. Of arithmetic: ``promoted`` from all operands, or
    ``floating`` where whole numbers give fractions."""
    layout: str | None = "input"
    """``HWC``; empty for none; ``input`` for what the words of ``shape`` leave; None: the data."""
    shape: tuple[ShapeWord, ...] | tuple[int | None, ...] | None = ("input",)
    """Words, applied from left to right to the first input's; or extents, None for those that the
    data tell; or None where not even their number is known."""


_TENSOR_TYPES = {"int": "INT32", "float": "FLOAT", "DALIInterpType": "INTERP_TYPE"}
"""The element type of a tensor that DALI takes for an argument, by its kind: no others (tried)."""

NOTHING_KNOWN = OutputRule(None, None, None)


@dataclass(frozen=True, slots=True)
class Feed:
    """A node that can feed a port or an argument, where the graph has none that fits."""

    op: str
    args: Mapping[str, Value] = field(default_factory=dict)
    output: str = "output"


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One named argument of an operator.

    The first group is DALI's schema; the second is the overlay's.
    """

    name: str
    kind: ArgKind
    doc: str = ""
    required: bool = False
    default: Value | None = None
    """What DALI uses when the argument is not given; None where the schema names nothing."""
    tensor: bool = False
    """Whether a value per sample (a random draw, another node's output) is accepted."""
    deprecated: str | None = None
    """Why not to use it, or None."""
    enum: str | None = None
    """The enumeration in ``nvidia.dali.types`` whose member names are the values."""
    members: tuple[str, ...] = ()
    """All member names of ``enum``; ``choices`` may offer fewer."""

    label: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    step: float | None = None
    minimum: float | None = None
    """Smallest value that DALI accepts (of each element, in a list); a slider may begin higher."""
    maximum: float | None = None
    """Largest value that DALI accepts."""
    choices: tuple[Scalar, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Values that DALI accepts and that must not be used, each with the reason."""
    start: Value | None = None
    """The value a freshly added node gets; None leaves the argument out."""
    draw: tuple[float, float] | None = None
    """The range that "make it random" starts with."""
    form: Form = ""
    parts: tuple[str, ...] = ()
    """Names of a list's elements in order, such as ``h``, ``w``; of a matrix, of its columns."""
    constant: str | None = None
    """The name under which exported code lifts the value to the top of the file."""
    advanced: bool = True
    """Folded away in the inspector."""
    items: int | None = None
    """How many elements a list must have, where DALI takes no other number."""
    volume_items: int | None = None
    """How many it must have instead where volumes flow in: where the layout has a ``D``."""
    feed: Feed | None = None
    """What can feed it, where a fixed value is of no use."""
    elements: tuple[str, ...] | None = None
    """The element types that a linked tensor may have, where they are not that of ``kind``; empty
    for any."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types that a linked tensor may have; empty for any."""
        if self.elements is not None:
            return self.elements
        dtype = _TENSOR_TYPES.get(self.enum or self.kind.removesuffix("_list"))
        return () if dtype is None else (dtype,)


@dataclass(frozen=True, slots=True)
class PortSpec:
    """One positional input or one output of an operator."""

    name: str
    kind: PortKind = "any"
    optional: bool = False
    layouts: tuple[str, ...] = ()
    """Layouts the schema accepts, such as ``HWC``; empty where it does not say."""
    device: PortDevice = "operator"
    """Of an input."""
    dtypes: tuple[str, ...] = ()
    """Element types that an input takes; empty for any."""
    feed: Feed | None = None
    """Of an input: what can feed it."""
    gives: OutputRule = OutputRule()
    """Of an output."""
    follows: bool = False
    """Of an output: it is of the kind that feeds the first input."""
    needs: str = ""
    """Of an output: the optional input that must be fed for DALI to give it."""


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One operator of the installed DALI."""

    name: str
    """As in ``nvidia.dali.fn``: ``rotate``, ``readers.file``, ``random.uniform``."""
    schema: str
    """DALI's registry name: ``Rotate``, ``readers__File``; empty for what is ``written`` otherwise,
    of which DALI makes one hidden operator."""
    devices: tuple[Device, ...]
    inputs: tuple[PortSpec, ...] = ()
    max_inputs: int = 0
    """More than ``len(inputs)`` for operators with any number of inputs, such as ``cat``;
    the further ports are named ``input_2``, ``input_3``, ..."""
    outputs: tuple[PortSpec, ...] = ()
    args: Mapping[str, ArgSpec] = field(default_factory=dict)
    """Without ``seed``, which is the graph's affair (see ``seeded``)."""
    seeded: bool = False
    """Takes a ``seed``."""
    random_state: bool = False
    """Draws from Philox(seed, batch * batch_size); ``_random_state`` sets that position."""
    doc: str = ""
    summary: str = ""
    category: str = "other"
    label: str = ""
    synonyms: tuple[str, ...] = ()
    """What other libraries and people call it."""
    image: bool = False
    """Takes an image and gives an image: has a row in the overlay and can stand in a chain."""
    alters: bool = True
    """Whether its start values visibly change an image; False for ``copy`` and the like."""
    needs_channels: int | str | None = None
    """Channels that it takes where DALI ends the process on any other number, or the argument that
    says how many."""
    mutually_exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports of which at most one can be given, such as ``size`` and
    ``resize_shorter``."""
    together: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports that are given all or not at all, such as ``crop_h`` and
    ``crop_w``."""
    one_of: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports of which at least one must be given."""
    same_dtype: tuple[tuple[str, ...], ...] = ()
    """Groups of ports that must be fed one element type, such as ``anchor`` and ``shape_input``.
    Ports beyond the named ones, where any number is allowed, belong to the group of the last."""
    whole_batch: bool = False
    """What a sample becomes depends on the others of its batch."""
    module: str = ""
    """Of a function of ``nvidia.dali.auto_aug``: the module there in which it stands."""
    expression: str = ""
    """Python's expression with ``{}`` for each operand, where it is no call of ``fn``:
    ``{} + {}``, ``math.sqrt({})``."""
    operands: tuple[tuple[str, ...], ...] = ()
    """What can stand at each ``{}``: names of ports and arguments, the first that is given."""
    written_numbers: Mapping[str, str] = field(default_factory=dict)
    """Inputs in whose place a whole number can be written, and the argument that holds it:
    ``fn.random.choice(3)``."""
    stays: bool = False
    """Runs on the CPU unless it is told otherwise: data from the GPU do not take it there."""
    counted_outputs: str = ""
    """The argument that says how many outputs there are: ``output``, or ``output_0`` and on."""
    bodies: tuple[str, ...] = ()
    """Of a block (``own_operators.BLOCKS``): the names of its bodies."""
    numbered_bodies: bool = False
    """Whether a block may have more bodies than these two, numbered on: ``option_2``, ..."""
    consecutive: bool = False
    """Of a block: its bodies run one after another, each on what was given before."""
    follows: PortKind | None = None
    """Of an operator of the workbench (``FOLLOWERS``): the targets that follow an image."""
    unusable: str | None = None
    """Why the workbench cannot use it yet, or None."""

    def body_names(self, count: int) -> tuple[str, ...]:
        """The names of so many bodies: those of ``bodies``, but where any number may be."""
        if not self.numbered_bodies:
            return self.bodies
        stem = self.bodies[0].rpartition("_")[0]
        return tuple(f"{stem}_{index}" for index in range(max(len(self.bodies), count)))

    @property
    def reads(self) -> bool:
        """Whether it is a reader: it begins a pipeline with data from outside."""
        return is_reader(self.name)

    def conflicts_with(self, arg: str) -> frozenset[str]:
        """The arguments and ports that cannot be given together with ``arg``."""
        return frozenset(
            name for group in self.mutually_exclusive if arg in group for name in group
        ) - {arg}

    def outputs_with(self, fed: Collection[str], args: Mapping[str, Value]) -> tuple[PortSpec, ...]:
        """The outputs of a node that is fed at these inputs and has these arguments."""
        return tuple(
            port
            for port in self.outputs
            if not port.needs or port.needs in fed or args.get(port.needs) is True
        )

    def input(self, index: int) -> PortSpec:
        """The port at a position, also beyond the named ones where any number is allowed."""
        if index < len(self.inputs):
            return self.inputs[index]
        if self.follows:
            return PortSpec(f"input_{index}", "any", True, device="any")
        return PortSpec(f"input_{index}", self.inputs[-1].kind if self.inputs else "any", True)


MOST_OPAQUE_OUTPUTS = 16


def _opaque(count: int) -> OpSpec:
    names = ["output"] if count == 1 else [f"output_{index}" for index in range(count)]
    texts = {
        "call": ("Call", "What was called."),
        "source": ("Source", "Where it stands, and its text."),
        "why": ("Why", "Why the graph cannot hold it."),
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
        summary="This node stands for code that the graph cannot hold.",
        label="Code",
        unusable="it stands for code that the graph cannot hold",
    )


OPAQUE: Mapping[str, OpSpec] = {
    spec.name: spec for spec in map(_opaque, range(MOST_OPAQUE_OUTPUTS + 1))
}
"""``opaque.N`` for what an imported pipeline does and the graph cannot hold: any number of inputs
(``input_0``, ...) and N outputs (``output``, or ``output_0``, ...). It can be kept and shown, and
neither run nor placed."""


class Catalog(Mapping[str, OpSpec]):
    """Operators by name. An unknown name raises CatalogError with the nearest known ones.

    The stand-ins ``opaque.N`` and the ``blocks`` are answered, but not among those that it lists.

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
        raise CatalogError(f"{name!r} is no operator of DALI {self.dali_version}.{hint}")

    def find(self, name: str) -> OpSpec | None:
        """The operator of that name, or None.

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
        """The operators by their names in DALI's registry, such as ``readers__File``."""
        return {spec.schema: spec for spec in self._ops.values()}

    @cached_property
    def seeded_schemas(self) -> frozenset[str]:
        """The names there of what DALI itself gives a seed where a pipeline gives none."""
        of_ours = "external_source"  # its reader shuffles, in Python
        return frozenset(o.schema for o in self._ops.values() if o.seeded and o.name != of_ours)

    def __contains__(self, name: object) -> bool:
        return name in self._ops or name in self._unlisted

    def __iter__(self) -> Iterator[str]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)


CATALOG: Kind = Kind.of("workbench.load_catalog()", Catalog)
