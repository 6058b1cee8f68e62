"""Check the device, layout, channels and element type of a node's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.catalog.spec import ArgSpec, Device, OpSpec, kind_fits
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.values import (
    count_text,
    index_text,
    one_for_all,
    parse_index,
    value_fault,
)
from workbench.graph.types.devices import device_of
from workbench.graph.types.tensor_type import (
    TensorType,
    TypedCall,
    broadcast,
    operand_types,
    result_type,
)

_ORDER = "output_layout"
Flows = Mapping[Port, TensorType]
"""Data type at each port of a graph."""
NORMALIZES = "crop_mirror_normalize"
"""Operator whose mean and standard deviation have one number per channel."""


def type_faults(
    node: Node, spec: OpSpec, devices: Mapping[str, Device], flows: Flows
) -> Iterator[Fault]:
    """Yield the faults of one node's device, layouts, channels and element types."""
    yield from _device_faults(node, spec, devices)
    for name, source in node.inputs.items():
        flow = flows.get(source)
        if name in spec.args:
            if device_of(devices, source) != "cpu":
                words = f"{source} is on the GPU"
                yield Fault(node.id, name, words, "Arguments must come from the CPU.", "arg_on_gpu")
            if flow is not None and spec.args[name].tensor:
                yield from _argument_dtype_faults(node, spec.args[name], source, flow)
        elif flow is not None:
            yield from _input_faults(node, spec, name, flow)
    yield from _same_dtype_faults(node, spec, flows)
    yield from _volume_argument_faults(node, spec, flows)
    if "relayout" in (spec.outputs[0].gives.shape or () if spec.outputs else ()):
        yield from _output_layout_faults(node, spec, flows)
    if spec.needs_channels is not None:
        yield from _channel_faults(node, spec, flows)
    if spec.expression:
        yield from _operand_faults(node, spec, flows)
    if spec.name == "subscript":
        yield from _index_faults(node, spec, flows)


def _device_faults(node: Node, spec: OpSpec, devices: Mapping[str, Device]) -> Iterator[Fault]:
    device = devices[node.id]
    follows = isinstance(node, Source) and node.decodes and node.device is None
    if device not in spec.devices and not follows:
        if node.device is not None:
            where = "mixed" if device == "mixed" else f"on {_join_devices((device,))}"
            words = f"{node.op} cannot run {where}"
            yield Fault(node.id, "", words, f"It runs on {_join_devices(spec.devices)}.", "device")
        elif device == "cpu":
            words = f"{node.op} runs on {_join_devices(spec.devices)} only"
            remedy = "Decode on the GPU (mixed), copy to the GPU first, or remove it."
            yield Fault(node.id, "", words, remedy, "gpu_only")
        else:
            words = f"{node.op} runs on the CPU only and follows a GPU operator"
            remedy = "Move it before the GPU part, copy to the CPU first, or decode on the CPU."
            yield Fault(node.id, "", words, remedy, "cpu_after_gpu")


def _argument_dtype_faults(
    node: Node, arg: ArgSpec, source: Port, flow: TensorType
) -> Iterator[Fault]:
    if arg.dtypes and flow.dtype is not None and flow.dtype not in arg.dtypes:
        wanted = _default_dtype(arg.dtypes)
        words = (
            f"it accepts {_noun(wanted)} ({' or '.join(arg.dtypes)}), but {source} "
            f"outputs {_noun(flow.dtype)} ({flow.dtype})"
        )
        remedy = f"Insert a cast to {wanted} between them."
        yield Fault(node.id, arg.name, words, remedy, "arg_dtype", wanted)


def _default_dtype(dtypes: Sequence[str]) -> str:
    return next((dtype for dtype in ("FLOAT", "INT32") if dtype in dtypes), dtypes[0])


def _noun(dtype: str) -> str:
    if dtype == "BOOL":
        return "truth values"
    if dtype == "INTERP_TYPE":
        return "interpolations"
    return "floats" if dtype.startswith("FLOAT") else "integers"


def _input_faults(node: Node, spec: OpSpec, name: str, flow: TensorType) -> Iterator[Fault]:
    port = next((port for port in spec.inputs if port.name == name), None)
    if port is None or not kind_fits(port.kind, flow.kind):
        return
    if port.dtypes and flow.dtype is not None and flow.dtype not in port.dtypes:
        wanted = _default_dtype(port.dtypes)
        words = f"it accepts numbers of type {' or '.join(port.dtypes)}, but gets {flow.dtype}"
        yield Fault(node.id, name, words, f"Insert a cast to {wanted} before it.", "dtype", wanted)
    if port.layouts and flow.layout is not None:
        yield from _layout_faults(node, name, port.layouts, flow)


def _first_input_type(node: Node, spec: OpSpec, flows: Flows) -> TensorType:
    """Return the type of the first input, or an unknown type if the input is not connected."""
    source = node.inputs.get(spec.inputs[0].name) if spec.inputs else None
    return flows.get(source, TensorType()) if source is not None else TensorType()


def _same_dtype_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report inputs with different element types if the operator requires equal types."""
    further = [name for name in node.inputs if name not in spec.args]
    further = further[len(spec.inputs) :] if spec.max_inputs > len(spec.inputs) else []
    for group in spec.same_dtype:
        names = (*group, *further) if spec.inputs[-1].name in group else group
        fed = {name: node.inputs[name] for name in names if name in node.inputs}
        known = {n: flow.dtype for n, p in fed.items() if (flow := flows.get(p)) and flow.dtype}
        for name, dtype in known.items():
            first, wanted = next(iter(known.items()))
            allowed = next((port.dtypes for port in spec.inputs if port.name == name), ())
            if dtype != wanted and (not allowed or dtype in allowed):
                words = (
                    f"{fed[name]} outputs {dtype}, but the input {first!r} gets {wanted}: "
                    f"{node.op} requires equal types"
                )
                remedy = f"Insert a cast to {wanted} before it."
                yield Fault(node.id, name, words, remedy, "same_dtype", wanted)


def _volume_argument_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report list arguments whose length fits a volume but not the image input, or vice versa."""
    layout = _first_input_type(node, spec, flows).layout
    for arg in spec.args.values() if layout else ():
        value = node.args.get(arg.name)
        if arg.volume_items is None or value is None or value_fault(arg, value):
            continue
        if one_for_all(arg, value):
            continue
        count = len(value) if isinstance(value, tuple) else 1
        wanted = arg.volume_items if "D" in (layout or "") else arg.items
        if wanted is not None and count != wanted:
            words = f"it has {count} elements, but its input is {layout}"
            yield Fault(node.id, arg.name, words, f"Use {count_text(arg, wanted)}.", "value")


def _layout_faults(
    node: Node, name: str, allowed: tuple[str, ...], flow: TensorType
) -> Iterator[Fault]:
    if flow.layout:
        if any(_matches(flow.layout, layout) for layout in allowed):
            return
        found = f"{flow.layout} ({_axes(flow.layout)})"
    else:
        if flow.shape is None or len(flow.shape) in map(len, allowed):
            return
        found = f"data of {len(flow.shape)} axes"
    first = "HWC" if "HWC" in allowed else allowed[0]
    if (flow.layout or "")[:1] == "F" and not any(layout[0] == "F" for layout in allowed):
        words = f"it accepts {first} ({_axes(first)}), not sequences, but gets {found}"
        remedy = "Select one frame before it (subscript with the index 0), or use another operator."
        yield Fault(node.id, name, words, remedy, "layout", first)
        return
    words = f"it accepts {first} ({_axes(first)}), but gets {found}"
    remedy = "Move it before the node that outputs this, or insert a transpose."
    yield Fault(node.id, name, words, remedy, "layout", first)


def _matches(layout: str, allowed: str) -> bool:
    return len(layout) == len(allowed) and all(
        "*" in (one, other) or one == other for one, other in zip(layout, allowed, strict=True)
    )


_AXES = {"H": "rows", "W": "columns", "C": "channels", "F": "frames", "D": "slices"}


def _axes(layout: str) -> str:
    return ", ".join(_AXES.get(letter, letter) for letter in layout)


def _output_layout_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report an output layout that is not a permutation of the input's axes."""
    found = _first_input_type(node, spec, flows).layout
    wanted = node.args.get(_ORDER, spec.args[_ORDER].default)
    if not found or not isinstance(wanted, str) or sorted(found) == sorted(wanted):
        return
    if not any(_matches(found, layout) for layout in spec.inputs[0].layouts):
        return  # its layout fault is already reported
    words = f"{wanted} ({_axes(wanted)}) is not a permutation of its input {found} ({_axes(found)})"
    yield Fault(node.id, _ORDER, words, f"Use a permutation of {_axes(found)}.", "relayout", found)


def _channel_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    found, need = _first_input_type(node, spec, flows).channels, spec.needs_channels
    if isinstance(need, str):
        given = node.args.get(need, spec.args[need].default)
        need = given if isinstance(given, int) and need not in node.inputs else None
    if None not in (found, need) and found != need:
        space = "GRAY" if need == 1 else "RGB"
        words = f"it accepts {need} channels, but gets {found}"
        yield Fault(node.id, "", words, f"Decode as {space}, or remove it.", "channels", space)


def per_channel_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report a mean or standard deviation that has neither one element nor one per channel.

    This check is separate from ``type_faults`` because new ``crop_mirror_normalize`` nodes have
    values for three channels, even after grey images. If channels are padded, nothing is reported,
    because DALI 2.4 then accepts some lengths other than these.
    """
    found = _first_input_type(node, spec, flows).channels
    if found is None or "pad_output" in node.inputs or node.args.get("pad_output"):
        return
    for name in ("mean", "std"):
        value = node.args.get(name)
        if name in node.inputs or not isinstance(value, tuple) or len(value) in (1, found):
            continue
        wanted = f"{found} numbers, or one for all" if found > 1 else "one number"
        words = (
            f"it has {len(value)} elements, one per channel, but "
            f"{node.inputs[spec.inputs[0].name]} outputs {found} channel{'s' * (found != 1)}"
        )
        yield Fault(node.id, name, words, f"Use {wanted}.", "value")


def _operand_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report operands of arithmetic, or combinations of operands, that DALI does not support."""
    fed = {name: flows.get(source, TensorType()) for name, source in node.inputs.items()}
    call = TypedCall(node, spec, fed)
    found = [flow for flow in operand_types(call) if spec.outputs[0].gives.dtype]
    if spec.name in _NO_TRUTH and all(flow.dtype == "BOOL" for flow in found):
        words = f"{node.op} does not support two booleans"
        yield Fault(node.id, "data", words, "Insert a cast to UINT8 before it.", "dtype", "UINT8")
    allowed = spec.inputs[0].dtypes
    for name, flow in fed.items():
        if name in spec.args and flow.dtype is not None and flow.dtype not in allowed:
            wanted = "FLOAT" if "FLOAT" in allowed else "INT32"
            words = f"DALI does not support {node.op} of {flow.dtype}"
            remedy = f"Insert a cast to {wanted} between them."
            yield Fault(node.id, name, words, remedy, "arg_dtype", wanted)
    kind = result_type([flow.dtype for flow in found], floating=False)
    if spec.name in _DIVIDES and node.args.get("right") == 0 and kind and "FLOAT" not in kind:
        words = f"it is 0, but {node.op} of integers ({kind}) by 0 ends the pipeline"
        remedy = "Use another number, or FLOAT as constant_type."
        yield Fault(node.id, "right", words, remedy, "zero")
    try:
        broadcast([flow.shape for flow in found])
    except ValueError as error:
        words = f"the operands' shapes do not match: {error}"
        remedy = "Use equal shapes, or 1 along an axis to broadcast."
        yield Fault(node.id, "", words, remedy, "shapes")


def _index_faults(node: Node, spec: OpSpec, flows: Flows) -> Iterator[Fault]:
    """Report indices that are out of range, if the shape is known. Slices may be out of range."""
    flow = _first_input_type(node, spec, flows)
    try:
        index = parse_index(str(node.args.get("index", spec.args["index"].default)))
    except ValueError:
        return  # reported as another fault
    if flow.shape is None:
        return
    if len(index) > len(flow.shape):
        axes = f"{len(flow.shape)} axes" if len(flow.shape) != 1 else "1 axis"
        words = f"it has {len(index)} parts, but the data have {axes}"
        remedy = f"Use at most {len(flow.shape)}." if flow.shape else "Remove it."
        yield Fault(node.id, "index", words, remedy, "index", index_text(index[: len(flow.shape)]))
        return
    for axis, (item, extent) in enumerate(zip(index, flow.shape, strict=False)):
        if isinstance(item, int) and extent and not -extent <= item < extent:
            named = _AXES.get((flow.layout or "")[axis : axis + 1])
            there = f"axis {axis}, which has {extent}"
            last = extent - 1 if item > 0 else -extent
            yield Fault(
                node.id,
                "index",
                f"{item} is beyond {f'the {extent} {named}' if named else there}",
                f"Use an index from {-extent} to {extent - 1}.",
                "index",
                index_text((*index[:axis], last, *index[axis + 1 :])),
            )


_DIVIDES = ("math.floordiv", "math.mod")
_NO_TRUTH = frozenset(
    f"math.{name}"
    for name in (
        *("add", "sub", "truediv", "floordiv", "mod", "pow", "fpow", "atan2", "min", "max"),
        "clamp",
    )
)
"""Operators that DALI rejects if all operands are BOOL (tested with DALI 2.4)."""


def _join_devices(devices: tuple[Device, ...]) -> str:
    return " and ".join(
        "the GPU" if d == "gpu" else "the CPU" if d == "cpu" else d for d in devices
    )
