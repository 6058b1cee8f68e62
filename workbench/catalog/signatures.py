"""Create the signatures and documentation of operators as functions, from the catalogue."""

from __future__ import annotations

from inspect import Parameter, Signature

from workbench.catalog.spec import ArgSpec, OpSpec

_SCALARS = {"bool": "bool", "int": "int", "float": "float", "str": "str", "enum": "str"}


class _Type(str):
    """A type as text, which ``help`` and Shift+Tab display without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_NODE = "wb.DataNode"
_MOST_CHOICES = 6
"""Maximum number of choices in a signature. The documentation has all of them."""
_OWN = {
    "seed": ("int", "Added to the seed of the graph. By default, one that no other node has."),
    "device": ("str", "Device of the operator: cpu or gpu. By default, that of its inputs."),
    "name": ("str", "Id of the node. By default, derived from the operator."),
    "p": ("float | DataNode", "Probability, 0 to 1, with which the operator changes a sample."),
}
"""Arguments that the workbench adds to operators: type and description."""


def _own_arguments(spec: OpSpec) -> dict[str, tuple[str, str]]:
    """Return the arguments that the workbench adds to an operator: type and text, by name."""
    missing = (
        {*spec.args} | (set() if spec.seeded else {"seed"}) | (set() if spec.inputs else {"p"})
    )
    return {name: row for name, row in _OWN.items() if name not in missing}


def _displayed_type(arg: ArgSpec) -> _Type:
    """Return an argument's type with its choices. ``| None`` is added only if it is the default."""
    text, names = type_text(arg), accepted_values(arg)
    if names and len(names) <= _MOST_CHOICES:
        text = text.replace("str", f"Literal[{', '.join(map(repr, names))}]")
    text = text if arg.default is None else text.removesuffix(" | None")
    return _Type(text.replace("DataNode", _NODE))


def signature_of(spec: OpSpec, bound: bool = False) -> Signature:
    """Return the signature of an operator: inputs by position, then DALI's arguments by keyword.

    ``bound`` excludes the first input, for methods of a graph or of a value.
    """
    inputs = [
        Parameter(
            port.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation=_Type(_NODE),
            default=None if port.optional else Parameter.empty,
        )
        for port in spec.inputs[bound:]
    ]
    if spec.max_inputs > len(spec.inputs):
        inputs.append(Parameter("inputs", Parameter.VAR_POSITIONAL, annotation=_Type(_NODE)))
    taken = {parameter.name for parameter in inputs}
    arguments = [
        Parameter(
            arg.name,
            Parameter.KEYWORD_ONLY,
            annotation=_displayed_type(arg),
            default=Parameter.empty if arg.required else arg.default,
        )
        for arg in spec.args.values()
        if arg.name not in taken
    ]
    taken |= {port.name for port in spec.inputs}
    arguments += [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            annotation=_Type(f"{kind.replace('DataNode', _NODE)} | None"),
            default=None,
        )
        for name, (kind, _) in _own_arguments(spec).items()
        if name not in taken
    ]
    return Signature([*inputs, *sorted(arguments, key=lambda p: p.default is not Parameter.empty)])


def type_text(arg: ArgSpec) -> str:
    """Return the Python type of an argument as text. Optional arguments may be None."""
    scalar = _SCALARS.get(arg.kind.removesuffix("_list"), "Any")
    text = f"{scalar} | Sequence[{scalar}]" if arg.kind.endswith("_list") else scalar
    if arg.tensor:
        text += " | DataNode"
    return text if arg.required or scalar == "Any" else f"{text} | None"


def accepted_values(arg: ArgSpec) -> tuple[str, ...]:
    """Return the names that an argument accepts; empty if it is not limited to names."""
    kind = arg.kind.removesuffix("_list")
    if kind == "enum":
        return arg.members
    return tuple(map(str, arg.choices)) if kind == "str" else ()


def documentation_of(spec: OpSpec) -> str:
    """Return an operator's docstring, with type, default, range and choices of each argument."""
    lines = [spec.doc.strip() or spec.summary]
    lines += ["", "Parameters", "----------"]
    for arg in spec.args.values():
        unit = f", in {arg.unit}" if arg.unit else ""
        ends = [f"{end:g}" if end is not None else "" for end in (arg.minimum, arg.maximum)]
        bounds = f", {ends[0] or '-inf'} to {ends[1] or 'inf'}" if any(ends) else ""
        if not bounds and arg.low is not None and arg.high is not None:
            bounds = f", usually {arg.low:g} to {arg.high:g}"
        default = "" if arg.default is None else f", default {arg.default!r}"
        kind = type_text(arg).replace("DataNode", _NODE)
        lines.append(f"{arg.name} : {kind}{unit}{bounds}{default}")
        if names := accepted_values(arg):
            lines.append(f"    One of: {', '.join(names)}.")
        lines += [f"    {line}".rstrip() for line in arg.doc.strip().splitlines()]
    for name, (kind, words) in _own_arguments(spec).items():
        lines += [f"{name} : {kind.replace('DataNode', _NODE)} | None", f"    {words}"]
    if spec.outputs:
        lines += ["", "Returns", "-------"]
        lines += [f"{port.name} : {port.kind}" for port in spec.outputs]
    return "\n".join(lines)
