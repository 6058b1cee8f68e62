"""Values that nobody knows, while the pipeline of a script is made: operators get none of them.

A stand-in is no number. So an argument that is one is left to DALI's own default, data that are one
come from outside the pipeline, and settings of a pipeline that are one are usual.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any, cast

from workbench.emit.pipeline_import.setting_lines import setting_lines
from workbench.emit.pipeline_import.trace.traced import Loss
from workbench.engine.assumed_values.project_modules import TREES
from workbench.engine.assumed_values.stand_ins import StandIn, StandInError
from workbench.engine.script_import.unknown_uses import UnknownUses, script_line

_USUAL = {"batch_size": 16, "num_threads": 4, "device_id": 0}
"""Settings of a pipeline; the others are left to DALI."""
_LOST = ("use_image_center",)
"""Arguments that DALI had before and has no more."""


@contextmanager
def unknown_values_left_out(uses: UnknownUses) -> Iterator[dict[Loss, None]]:
    """Within it DALI accepts stand-ins as values. Yields what was left out or assumed."""
    from nvidia.dali import fn
    from nvidia.dali.data_node import DataNode
    from nvidia.dali.pipeline import Pipeline

    ops: Any = import_module("nvidia.dali.ops")
    types: Any = import_module("nvidia.dali.types")
    arithmetic: Any = import_module("nvidia.dali.ops._operators.math")
    told: dict[Loss, None] = {}

    def tell(why: str) -> None:
        told[Loss(why, script_line())] = None

    texts = (types.DALIDataType.STRING, types.DALIDataType._STRING_VEC)
    add, inputs, groups = ops._add_spec_args, ops._preprocess_inputs, arithmetic._group_inputs
    without: set[str] = set()
    check_args = ops._OperatorInstance.check_args
    constant, start = types.Constant, cast(Any, Pipeline.__init__)
    settings = list(signature(start).parameters)[1:]

    def known(value: Any, kind: Any) -> Any:
        """A name stands for a text, as of a path; of what else it is none."""
        if not isinstance(value, StandIn):
            return value
        if kind not in texts:
            raise StandInError(f"{value} is not known here, and a value of it is needed")
        uses.note_argument(str(value))
        return str(value) if kind == texts[0] else [str(value)]

    def add_known(schema: Any, spec: Any, given: dict[str, Any]) -> None:
        for name, value in given.items():
            try:
                add(schema, spec, {name: known(value, schema.GetArgumentType(name))})
            except (StandInError, KeyError) as error:
                if isinstance(error, KeyError) and name not in _LOST:
                    raise
                why = "DALI has it no more" if isinstance(error, KeyError) else str(error)
                tell(f"{schema.Name().replace('__', '.')} without {name}: {why}")
                without.add(schema.Name())

    def fed(value: Any, device: str) -> Any:
        if not isinstance(value, StandIn):
            return value
        tell(f"{value} is not known here: it is fed from outside the pipeline")
        made = fn.external_source()
        return made.gpu() if device == "gpu" else made

    def fed_inputs(given: Any, name: str, device: str, schema: Any = None) -> Any:
        taken = inputs(tuple(fed(each, device) for each in given), name, device, schema)
        for place, node in enumerate(taken if schema is not None else ()):
            on_cpu = isinstance(node, DataNode) and node.device == "cpu"
            if on_cpu and schema.GetInputDevice(place, "cpu", device) == "gpu":
                tell(f"{name} runs on the GPU and is fed from the CPU: it is sent there")
                taken[place] = node.gpu()
        return taken

    def fed_operands(given: Any, *others: Any, **named: Any) -> Any:
        sides = {getattr(each, "device", "cpu") for each in given if isinstance(each, DataNode)}
        device = "gpu" if "gpu" in sides else "cpu"
        return groups(tuple(fed(each, device) for each in given), *others, **named)

    @wraps(constant)
    def fed_constant(value: Any, *others: Any, device: str | None = None, **given: Any) -> Any:
        if isinstance(value, StandIn):
            return fed(value, device or "cpu")
        return constant(value, *others, device=device, **given)

    @wraps(start)
    def start_with_known(pipe: Any, *args: Any, **given: Any) -> None:
        given |= dict(zip(settings, args, strict=False))
        for name, value in list(given.items()):
            if isinstance(value, StandIn):
                given[name] = _USUAL.get(name)
                if given[name] is None:
                    del given[name]
                trees = {file: tree.body for file, tree in TREES.items()}
                usual = f"{given[name]} here" if name in given else "DALI's default here"
                why = f"{value} is not known here: {name} of the pipeline is {usual}"
                told[Loss(why, script_line() or setting_lines(name, trees, ()))] = None
        start(pipe, **given)

    def check(op: Any) -> None:
        with suppress(RuntimeError) if op._op.schema.Name() in without else nullcontext():
            check_args(op)  # what is required may be what was left out

    start_with_known.__signature__ = signature(start)  # type: ignore[attr-defined]
    ops._OperatorInstance.check_args = check
    ops._add_spec_args, ops._preprocess_inputs = add_known, fed_inputs
    arithmetic._group_inputs = fed_operands
    types.Constant, Pipeline.__init__ = fed_constant, start_with_known
    try:
        yield told
    finally:
        ops._add_spec_args, ops._preprocess_inputs = add, inputs
        arithmetic._group_inputs = groups
        ops._OperatorInstance.check_args = check_args
        types.Constant, Pipeline.__init__ = constant, start
