"""Which operators the present interface can place, and why not the others."""

from __future__ import annotations

from workbench.catalog.spec import OpSpec

_CHAIN = ("image", "encoded")


def unusable_reason(op: OpSpec, *, described: bool) -> str | None:
    """Why the workbench cannot place an operator yet, or None where it can.

    A graph is a chain so far: a reader, a decoder, operators that take one image and give one,
    and ``random.*`` generators that feed their arguments. ``described`` says whether the overlay
    has a row for the operator.
    """
    if not op.devices:
        return "DALI names no device for it"
    if not described:
        return "not described in the overlay yet"
    if op.category == "audio":
        return "audio operator"
    if op.category == "video":
        return "video operator"
    if any(arg.required and arg.kind == "object" for arg in op.args.values()):
        return "needs a Python function: not yet"
    if op.category == "source":
        return "reads another source than a folder of images: not yet"
    required = [port for port in op.inputs if not port.optional]
    if op.category == "random" and not required:
        return None
    if op.max_inputs and len(required) > 1:
        return f"needs {len(required)} inputs: comes with the canvas"
    return _kind_reason(op)


def _kind_reason(op: OpSpec) -> str | None:
    takes = op.inputs[0].kind if op.inputs else None
    gives = op.outputs[0].kind if op.outputs else None
    if takes is None:
        return f"makes a {_named(gives)} out of nothing: comes with the canvas"
    if takes not in _CHAIN:
        return f"takes {_named(takes)}, not an image: comes with the canvas"
    if gives != "image":
        return f"gives {_named(gives)}, not an image: comes with the canvas"
    return None


def _named(kind: str | None) -> str:
    return {
        "number": "numbers",
        "any": "any data",
        "label": "labels",
        None: "nothing",
    }.get(kind, str(kind))
