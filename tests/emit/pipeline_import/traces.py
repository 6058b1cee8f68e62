"""Traced calls written by hand."""

from __future__ import annotations

from workbench.catalog.spec import Device, Value
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    TracedInput,
    TracedOp,
    TracedPipeline,
)

FILE = "/home/me/train.py"


def place(line: int, text: str = "", function: str = "pipe", file: str = FILE) -> SourceLocation:
    return SourceLocation(file, line, function, text)


def op(
    schema: str,
    name: str,
    *reads: str | TracedInput,
    outputs: int = 1,
    device: Device = "cpu",
    places: tuple[SourceLocation, ...] = (),
    refused: str | None = None,
    display: str = "",
    **args: Value,
) -> TracedOp:
    side: Device = "cpu" if device == "cpu" else "gpu"
    names = [name] if outputs == 1 else [f"{name}[{i}]" for i in range(outputs)]
    return TracedOp(
        schema,
        name,
        device,
        tuple(r if isinstance(r, TracedInput) else TracedInput(r, side) for r in reads),
        tuple((edge, side) for edge in names),
        args,
        places,
        "nvidia.dali.fn",
        display or schema.rpartition("__")[2].lower(),
        refused,
    )


def reader(name: str = "R", **args: Value) -> TracedOp:
    return op("readers__File", name, outputs=2, **({"file_root": "photos"} | args))


def decoder(device: Device = "cpu") -> TracedOp:
    return op("decoders__Image", "__Image_0", TracedInput("R[0]", "cpu"), device=device)


def pipeline(*ops: TracedOp, gives: tuple[TracedInput, ...] = (), seed: int | None = 1) -> (
    TracedPipeline
):  # fmt: skip
    last, side = ops[-1].outputs[0]
    return TracedPipeline(ops, gives or (TracedInput(last, side),), 8, 2, seed, None)
