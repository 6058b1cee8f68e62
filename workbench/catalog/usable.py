"""Which operators the present interface can place, and why not the others."""

from __future__ import annotations

from workbench.catalog.spec import OpSpec

_WORDS = {"number": "numbers", "any": "any data", "label": "labels", "mask": "masks"}


def unusable_reason(op: OpSpec, *, described: bool) -> str | None:
    """Why the workbench cannot place an operator yet, or None where it can.

    A graph is a chain so far: a reader, a decoder, operators that take one image and give one,
    and ``random.*`` generators that feed their arguments. ``described`` says whether the overlay
    has a row for the operator.
    """
    if not described:
        return "not described in the overlay yet"
    if op.category in ("audio", "video"):
        return f"{op.category} operator"
    if op.category == "source":
        return "reads another source than a folder of images: not yet"
    if any(arg.required and arg.kind == "object" for arg in op.args.values()):
        return "needs a Python function: not yet"
    required = [port for port in op.inputs if not port.optional]
    if op.category == "random" and not required:
        return None
    if len(required) > 1:
        return f"needs {len(required)} inputs: comes with the canvas"
    return _kind_reason(op)


def _kind_reason(op: OpSpec) -> str | None:
    """Whether the first input and the first output fit into a chain of images."""
    gives = _WORDS.get(op.outputs[0].kind, op.outputs[0].kind) if op.outputs else "nothing"
    if not op.inputs:
        return f"gives {gives} without an input: comes with the canvas"
    if op.inputs[0].kind not in ("image", "encoded"):
        takes = _WORDS.get(op.inputs[0].kind, op.inputs[0].kind)
        return f"takes {takes}, not an image: comes with the canvas"
    if op.outputs[0].kind != "image":
        return f"gives {gives}, not an image: comes with the canvas"
    return None
