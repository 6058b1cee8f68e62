"""Specifications of operators, arguments and ports: plain frozen data."""

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
"""A fixed argument value. Enum members are represented by their names in ``nvidia.dali.types``."""

ArgKind = Literal[
    "bool", "int", "float", "str", "enum",
    "bool_list", "int_list", "float_list", "str_list", "enum_list", "object", "policy",
]  # fmt: skip
"""``policy`` is a custom policy for automatic augmentation: see ``graph.policy``."""

Form = Literal["", "flag", "fields", "each", "colour", "range", "matrix", "index", "shown"]
"""How an argument is edited, if its kind is ambiguous: ``flag`` is an integer used as a boolean;
lists are one value for each of ``parts`` (``fields``), one common or individual value (``each``), a
colour, a low and a high end (``range``) or rows of numbers (``matrix``); a text is an ``index``
such as ``:, 3:9``, or only ``shown``."""

PortKind = Literal[
    "encoded", "image", "sound", "label", "boxes", "mask", "points", "number", "any"
]  # fmt: skip
"""``sound`` is a waveform or its spectrogram."""

SHOWN_KINDS: tuple[PortKind, ...] = ("image", "sound")
"""Kinds that are shown as images."""

PortDevice = Literal["operator", "either", "any", "cpu"]
"""Device of an input's data: that of the operator; that or the CPU; any, because only shape or type
is read; always the CPU."""

FITTING: Mapping[PortKind, frozenset[PortKind]] = {
    "image": frozenset({"mask", "sound"}),  # a mask is read from a file like an image
    "mask": frozenset({"image", "number"}),
    "boxes": frozenset({"number"}),
    "points": frozenset({"number"}),
    "number": frozenset({"label", "boxes", "points", "sound"}),
    "label": frozenset({"number"}),
}
"""Kinds that a port accepts besides its own and ``any``: for DALI, all are numeric arrays."""


def kind_fits(want: PortKind, got: PortKind) -> bool:
    """Whether data of kind ``got`` may be connected to a port of kind ``want``."""
    return "any" in (want, got) or want == got or got in FITTING.get(want, frozenset())


ShapeWord = Literal[
    "input", "decoded", "resize", "resize_axes", "crop", "pad_channels", "relayout", "recolour",
    "canvas", "pad", "slice", "paste", "paste_many", "filter", "transpose", "reduce",
    "shape", "drawn", "one_hot", "join", "stack", "expand", "squeeze", "reshape", "extract",
    "reorder", "per_frame", "affine", "points", "corner", "broadcast", "subscript",
    "extents", "classes",
]  # fmt: skip
"""Effect of an operator on the shape; ``graph.types.shape_rules`` has a function for each."""


@dataclass(frozen=True, slots=True)
class OutputRule:
    """The statically known type of an output.

    The operator's argument ``dtype``, if set or with a default, takes precedence over ``dtype``.
    """

    dtype: str | None = "input"
    """A member of ``DALIDataType``, the name of the input that it is taken from, ``input`` for the
    first one, or None if it depends on the data. For arithmetic: ``promoted`` from all operands, or
    ``floating`` if integers produce floats."""
    layout: str | None = "input"
    """``HWC``; empty for none; ``input`` for the input's layout after the words of ``shape``; None:
    depends on the data.
    """
    shape: tuple[ShapeWord, ...] | tuple[int | None, ...] | None = ("input",)
    """Words, applied from left to right to the first input's shape; or dimensions, None for those
    that depend on the data; or None if even their number is unknown."""


_TENSOR_TYPES = {"int": "INT32", "float": "FLOAT", "DALIInterpType": "INTERP_TYPE"}
"""The only element type of a tensor argument that DALI accepts, by argument kind (tested)."""

NOTHING_KNOWN = OutputRule(None, None, None)


@dataclass(frozen=True, slots=True)
class Feed:
    """A node that can feed a port or an argument if the graph has no suitable one."""

    op: str
    args: Mapping[str, Value] = field(default_factory=dict)
    output: str = "output"


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One named argument of an operator.

    The first group comes from DALI's schema, the second from the overlay.
    """

    name: str
    kind: ArgKind
    doc: str = ""
    required: bool = False
    default: Value | None = None
    """DALI's default; None if the schema names none."""
    tensor: bool = False
    """Whether a value per sample (a random value, another node's output) is accepted."""
    deprecated: str | None = None
    """Reason for the deprecation, or None."""
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
    """Smallest value that DALI accepts (for each element of a list); a slider may start higher."""
    maximum: float | None = None
    """Largest value that DALI accepts."""
    choices: tuple[Scalar, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Values that DALI accepts but that must not be used, with the reason."""
    start: Value | None = None
    """Initial value in a new node; None leaves the argument unset."""
    draw: tuple[float, float] | None = None
    """Initial range of "make it random"."""
    form: Form = ""
    parts: tuple[str, ...] = ()
    """Names of a list's elements in order, such as ``h``, ``w``; of a matrix, of its columns."""
    constant: str | None = None
    """Name of the constant at the top of exported code."""
    advanced: bool = True
    """Hidden in the inspector until "more" is opened."""
    items: int | None = None
    """Required number of list elements, if fixed."""
    volume_items: int | None = None
    """Required number for volumes, whose layout has a ``D``."""
    feed: Feed | None = None
    """A node that can feed it, if a fixed value is useless."""
    elements: tuple[str, ...] | None = None
    """Element types of a linked tensor, if they differ from that of ``kind``; empty for any."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Element types that a linked tensor may have; empty for any."""
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
    """Layouts that the schema accepts, such as ``HWC``; empty if unspecified."""
    device: PortDevice = "operator"
    """For inputs."""
    dtypes: tuple[str, ...] = ()
    """Element types that an input accepts; empty for any."""
    feed: Feed | None = None
    """For inputs: a node that can feed it."""
    gives: OutputRule = OutputRule()
    """For outputs."""
    follows: bool = False
    """For outputs: has the kind of the first input."""
    needs: str = ""
    """For outputs: the optional input without which DALI omits it."""


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One operator of the installed DALI."""

    name: str
    """As in ``nvidia.dali.fn``: ``rotate``, ``readers.file``, ``random.uniform``."""
    schema: str
    """DALI's registry name: ``Rotate``, ``readers__File``; empty for ``written`` operators, which
    become hidden DALI operators.
    """
    devices: tuple[Device, ...]
    inputs: tuple[PortSpec, ...] = ()
    max_inputs: int = 0
    """More than ``len(inputs)`` for operators with any number of inputs, such as ``cat``; further
    ports are named ``input_2``, ``input_3``, ..."""
    outputs: tuple[PortSpec, ...] = ()
    args: Mapping[str, ArgSpec] = field(default_factory=dict)
    """Without ``seed``, which the graph sets (see ``seeded``)."""
    seeded: bool = False
    """Accepts a ``seed``."""
    random_state: bool = False
    """Samples from Philox(seed, batch * batch_size); ``_random_state`` sets that position."""
    doc: str = ""
    summary: str = ""
    category: str = "other"
    label: str = ""
    synonyms: tuple[str, ...] = ()
    """Common names in other libraries."""
    image: bool = False
    """Has an image input and output: has a row in the overlay and can be part of a chain."""
    alters: bool = True
    """Whether its initial values visibly change an image; False for ``copy`` and similar ones."""
    needs_channels: int | str | None = None
    """Required number of channels (DALI crashes with others), or the argument that sets it."""
    mutually_exclusive: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports that exclude each other, such as ``size`` and
    ``resize_shorter``."""
    together: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports that must be set together, such as ``crop_h`` and
    ``crop_w``."""
    one_of: tuple[tuple[str, ...], ...] = ()
    """Groups of arguments and ports; each group needs at least one that is set."""
    same_dtype: tuple[tuple[str, ...], ...] = ()
    """Groups of ports that need equal element types, such as ``anchor`` and ``shape_input``. Ports
    beyond the named ones belong to the group of the last."""
    whole_batch: bool = False
    """The result for a sample depends on the other samples of its batch."""
    module: str = ""
    """For functions of ``nvidia.dali.auto_aug``: their module."""
    expression: str = ""
    """Python expression with ``{}`` for each operand, if it is not a call of ``fn``: ``{} + {}``,
    ``math.sqrt({})``."""
    operands: tuple[tuple[str, ...], ...] = ()
    """Candidates for each ``{}``: names of ports and arguments. The first one that is set is
    used."""
    written_numbers: Mapping[str, str] = field(default_factory=dict)
    """Inputs that may be written as an integer, and the argument that holds it:
    ``fn.random.choice(3)``."""
    stays: bool = False
    """Runs on the CPU unless set otherwise, even with GPU inputs."""
    counted_outputs: str = ""
    """The argument that sets the number of outputs: ``output``, or ``output_0`` and so on."""
    bodies: tuple[str, ...] = ()
    """For blocks (``extra_operators.BLOCKS``): the names of their bodies."""
    numbered_bodies: bool = False
    """Whether a block may have more than two bodies, numbered ``option_2``, ..."""
    consecutive: bool = False
    """For blocks: bodies run one after another, each on the previous output."""
    follows: PortKind | None = None
    """For workbench operators (``FOLLOWERS``): the annotations that follow an image."""
    unusable: str | None = None
    """Why the workbench cannot use it yet, or None."""

    def body_names(self, count: int) -> tuple[str, ...]:
        """The names of ``count`` bodies."""
        if not self.numbered_bodies:
            return self.bodies
        stem = self.bodies[0].rpartition("_")[0]
        return tuple(f"{stem}_{index}" for index in range(max(len(self.bodies), count)))

    @property
    def reads(self) -> bool:
        """True if the operator is a reader, which starts a pipeline with external data."""
        return is_reader(self.name)

    def conflicts_with(self, arg: str) -> frozenset[str]:
        """The arguments and ports that exclude ``arg``."""
        return frozenset(
            name for group in self.mutually_exclusive if arg in group for name in group
        ) - {arg}

    def outputs_with(self, fed: Collection[str], args: Mapping[str, Value]) -> tuple[PortSpec, ...]:
        """The outputs of a node with these connected inputs and these arguments."""
        return tuple(
            port
            for port in self.outputs
            if not port.needs or port.needs in fed or args.get(port.needs) is True
        )

    def input(self, index: int) -> PortSpec:
        """The port at a position, including unnamed ones if any number is allowed."""
        if index < len(self.inputs):
            return self.inputs[index]
        if self.follows:
            return PortSpec(f"input_{index}", "any", True, device="any")
        return PortSpec(f"input_{index}", self.inputs[-1].kind if self.inputs else "any", True)


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
"""``opaque.N`` represents imported code that a graph cannot contain: any number of inputs
(``input_0``, ...) and N outputs (``output``, or ``output_0``, ...). It can be stored and shown, but
neither run nor added."""


class Catalog(Mapping[str, OpSpec]):
    """Operators by name. An unknown name raises CatalogError with similar known ones.

    ``opaque.N`` and the ``blocks`` can be looked up but are not listed.

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
        """The operator with a name, or None.

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
        """Registry names of operators to which DALI assigns a seed if the pipeline does not."""
        of_ours = "external_source"  # its reader shuffles in Python
        return frozenset(o.schema for o in self._ops.values() if o.seeded and o.name != of_ours)

    def __contains__(self, name: object) -> bool:
        return name in self._ops or name in self._unlisted

    def __iter__(self) -> Iterator[str]:
        return iter(self._ops)

    def __len__(self) -> int:
        return len(self._ops)


CATALOG: Kind = Kind.of("workbench.load_catalog()", Catalog)
