"""Convert the readers of pipelines that the workbench did not export to sources of the graph.

It supports features of TFRecord and WebDataset, RecordIO, arrays without labels, and videos
read by GPU-only operators. The data is specified when the graph is run, as for a folder of images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.readers import ARRAY_REQUEST
from workbench.catalog.schema import enum_names
from workbench.catalog.spec import Device, Value
from workbench.emit.pipeline_import.calls.copied_calls import kinds_by_reader
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp, TracedPipeline
from workbench.errors import DataError
from workbench.names import free_name
from workbench.sources import PARAMETER, Dataset, load_source
from workbench.sources.class_folders import named_files
from workbench.sources.kinds.numpy_files import array_axes
from workbench.sources.record_features import TYPES, features_in, output_names

SELECTING = (
    *("file_root", "files", "file_list", "file_filter", "filenames", "path", "paths"),
    *("index_path", "index_paths", "annotations_file", "labels", "ext", "meta_files"),
    *("manifest_filepaths", "file_list_frame_num", "file_list_include_preceding_frame"),
)
"""Reader arguments that select files, samples, or parts of samples."""
_WORD = re.compile(r"[a-z][a-z0-9_]{2,30}")
"""Matches variables that can be part of a parameter's name."""
_LONGEST = 100


def shortened(value: Value) -> str:
    """Return a value as Python code, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_RECORDS = ("readers___TFRecord", "readers__TFRecord", "readers__Webdataset")
_VIDEO_RESIZE = "readers__VideoResize"
_VIDEOS = frozenset({"readers__Video", _VIDEO_RESIZE})
_VIDEO = "experimental__readers__Video"
_USUAL: Mapping[str, Value] = {
    **{"skip_vfr_check": True, "channels": 3, "additional_decode_surfaces": 2},
    **{"file_list_include_preceding_frame": False, "file_list_frame_num": False},
}
"""Options that the replacement video reader lacks, with the values that match its behaviour."""
_EXTRA_OUTPUTS = {"enable_frame_num": "frame_num", "enable_timestamps": "timestamps"}
"""Maps arguments of video readers to the output that they add, in output order."""
_RESIZING = frozenset(
    {"resize_x", "resize_y", "resize_shorter", "resize_longer", "size", "mode", "max_size"}
    | {"interp_type", "mag_filter", "min_filter", "antialias", "subpixel_scale"}
    | {"roi_start", "roi_end", "roi_relative"}
)


_DECODING = ("decoders__Image", "decoders__Video", "PeekImageShape", "_conditional")
_BY_NAME = ("find_record_files", "find_archives", "find_float_labels")
"""Functions of exported programs that find records whose features the reader names."""


def with_known_readers(pipeline: TracedPipeline, lines: Lines) -> TracedPipeline:
    """Replace the readers of a pipeline with sources that read the same kind of data."""
    pipeline = _with_required_shapes(pipeline)
    read = {edge.edge for op in pipeline.ops for edge in op.inputs}
    read |= {edge.edge for edge in pipeline.outputs}
    ops: list[TracedOp] = []
    for op in pipeline.ops:
        function, parameter = lines.data_function(op) or ("", "")
        own = op.refused or bool(function)
        if by_name := function in _BY_NAME:
            op, own = replace(op, dataset=parameter), False
        if op.schema == "ExternalSource" and "source" in op.args:
            op, own = _python_source(op, pipeline, lines), True
        elif op.schema == "ExternalSource" and not own and op.display not in kinds_by_reader():
            op, own = _external_source(op, pipeline.ops), True
        made = [_generated_reader(op, read)] if own else (_known_reader(op, pipeline) or [op])
        if by_name:
            made[0] = replace(made[0], changed="")
        if op.changed and made[0].changed != op.changed:
            made[0] = replace(made[0], changed=f"{op.changed}; {made[0].changed}")
        ops.extend(made)
    return replace(pipeline, ops=tuple(_with_own_parameters(ops, lines)))


def _as_tuple(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _with_required_shapes(pipeline: TracedPipeline) -> TracedPipeline:
    """Move the shapes of ``require_shape`` calls to the features of the TFRecord readers."""
    users: dict[str, list[TracedOp]] = {}
    for op in pipeline.ops:
        for each in op.inputs:
            users.setdefault(each.edge, []).append(op)
    moved: list[TracedOp] = []

    def after(edge: str, schema: str, argument: str) -> TracedOp | None:
        used = users.get(edge, [])
        if len(used) != 1 or any(edge == each.edge for each in pipeline.outputs):
            return None
        fits = used[0].schema == schema and [*used[0].args] == [argument]
        return used[0] if fits and len(used[0].inputs) == 1 else None

    ops = []
    for op in pipeline.ops:
        kinds = _as_tuple(op.args.get("features", ()))
        if op.schema in _RECORDS[:2] and len(kinds) == len(op.outputs):
            features, outputs = [], []
            for kind, (edge, device) in zip(map(str, kinds), op.outputs, strict=True):
                if cat := after(edge, "Cat", "axis"):
                    moved, edge = [*moved, cat], cat.outputs[0][0]
                    shaped = after(edge, "Reshape", "shape") if kind.endswith("[?]") else None
                    if shaped:
                        moved, edge = [*moved, shaped], shaped.outputs[0][0]
                        sizes = ", ".join(map(str, _as_tuple(shaped.args["shape"])))
                        kind = kind.replace("?", sizes)
                features.append(kind)
                outputs.append((edge, device))
            args = {**op.args, "features": tuple(features)}
            op = replace(op, args=args, outputs=tuple(outputs))
        ops.append(op)
    return replace(pipeline, ops=tuple(op for op in ops if op not in moved))


def _with_own_parameters(ops: Iterable[TracedOp], lines: Lines) -> Iterator[TracedOp]:
    """Yield the calls, with a separate graph parameter for each location that readers read.

    The first parameter is ``data``. Others are named after the variable to which the reader's
    output is assigned, such as ``data_masks``, or numbered. Each array that another program sends
    has its own parameter. Encoded images have the first one.
    """
    ops = list(ops)
    parameters: dict[str, str] = {}
    if any(
        (op.schema == "ExternalSource" and not op.refused)
        or (not (op.kind or op.inputs) and (reads_folder(op) or lines.data_function(op)))
        for op in ops
    ):
        parameters[""] = PARAMETER
    for op in ops:
        if not op.kind or op.dataset:
            yield op
            continue
        own = op.name if op.kind == ARRAY_REQUEST.name else ""
        location = repr((op.kind, own, [op.args.get(name) for name in SELECTING]))
        count = len(parameters) + 1
        usual = PARAMETER if count == 1 else f"{PARAMETER}_{count}"
        variable = next(iter(lines.targets(op)), "").lower()
        if count > 1 and _WORD.fullmatch(variable):
            named = f"{PARAMETER}_{variable}"
            usual = usual if named in parameters.values() else named
        yield replace(op, dataset=parameters.setdefault(location, usual))


def reads_folder(op: TracedOp) -> bool:
    """Return True for a reader of a folder, which becomes the data of a graph."""
    named = any(name in op.args for name in ("files", "file_list"))
    return op.schema == "readers__File" and "file_root" in op.args and not named


def _python_source(op: TracedOp, pipeline: TracedPipeline, lines: Lines) -> TracedOp:
    """Return an external source that Python code feeds, with the names of its outputs."""
    targets = lines.targets(op)
    names: list[str] = []
    kinds: list[str] = []
    for index, (edge, _) in enumerate(op.outputs):
        readers = [each for each in pipeline.ops if edge in {e.edge for e in each.inputs}]
        encoded = readers and all(
            each.schema.startswith(_DECODING) and each.inputs[0].edge == edge for each in readers
        )
        usual = f"output_{index}" if len(op.outputs) > 1 else "output"
        known = targets[index] if len(targets) == len(op.outputs) and targets[index] else usual
        names.append(free_name("jpegs" if encoded else known, names))
        is_image = any(_reads_image(each, edge) for each in readers)
        kinds.append("image" if is_image and not encoded else "")
    args: dict[str, Value] = {**op.args, "outputs": tuple(names)}
    if any(kinds):
        args["kinds"] = tuple(kinds)
    if "workers" in args:
        args["workers"] = int(pipeline.unheld.get("py_num_workers", "1"))
    return replace(op, args=args, ports=tuple(names))


def _reads_image(op: TracedOp, edge: str) -> bool:
    """Return True if an operator reads the edge as an image."""
    spec = load_catalog().by_schema.get(op.schema)
    data = [each.edge for each in op.inputs if each.argument is None]
    return spec is not None and edge in data and spec.input(data.index(edge)).kind == "image"


def _external_source(op: TracedOp, ops: Collection[TracedOp]) -> TracedOp:
    """Convert an external source to a request for encoded images or, by its type, for an array.

    It is marked as unsupported if it has no declared type and its consumers do not decode.
    """
    made = {edge for edge, _ in op.outputs}
    readers = [each for each in ops if made & {edge.edge for edge in each.inputs}]
    layout = str(op.args.get("layout", ""))
    ndim = op.args.get("ndim", len(layout) or None)
    if ndim in (None, 1) and readers and all(r.schema.startswith(_DECODING) for r in readers):
        return op
    dtype = op.args.get("dtype")
    if len(op.outputs) > 1 or not isinstance(dtype, int) or not isinstance(ndim, int):
        why = "its arrays have no declared type: pass dtype and ndim to fn.external_source"
        return replace(op, refused=why)
    args: dict[str, Value] = {"dtype": dtype, "shape": (-1,) * ndim}
    args |= {"layout": layout} if layout else {}
    name = ARRAY_REQUEST.name
    return replace(op, args=args, schema=name, kind=name, ports=("array",))


def _generated_reader(op: TracedOp, used: Collection[str]) -> TracedOp:
    """Remove unused additional outputs of a generated function from a reader call."""
    kind = kinds_by_reader().get(op.display)
    count = len(kind.outputs) if kind else 0
    if count and not any(edge in used for edge, _ in op.outputs[count:]):
        args = {name: value for name, value in op.args.items() if name not in _EXTRA_OUTPUTS}
        return replace(op, outputs=op.outputs[:count], args=args)
    return op


def _known_reader(op: TracedOp, pipeline: TracedPipeline) -> list[TracedOp] | None:
    if op.schema in _RECORDS:
        return _features_by_name(op, pipeline.ops)
    if op.schema == "readers__MXNet":
        return [_record_io(op)]
    if op.schema == "experimental__inputs__Video":
        return [replace(op, kind="video_request", ports=("output",))]
    if op.schema == "readers__Numpy" and len(op.outputs) == 1:
        return _array_calls(op)
    if op.schema in _VIDEOS or op.schema == _VIDEO:
        used = {edge.edge for each in pipeline.ops for edge in each.inputs}
        return _video_calls(op, used | {edge.edge for edge in pipeline.outputs})
    return None


def _array_calls(op: TracedOp) -> list[TracedOp]:
    """Return a source of arrays, and a call that removes the channel axis that it adds, if any."""
    reader = replace(op, kind="numpy_files", ports=("images",), changed=_replaced_arguments(op))
    files, root = op.args.get("files", ()), str(op.args.get("file_root", ""))
    names = [files] if isinstance(files, str) else [*files] if isinstance(files, tuple) else []
    try:
        names = names or [name for name, _ in named_files(root, (".npy",))]
        axes = array_axes(os.path.join(root, str(names[0])))
    except (OSError, ValueError, IndexError):
        return [
            replace(reader, changed=f"{reader.changed}; an array without channels gets an axis")
        ]
    if -1 not in axes:
        return [reader]
    ((edge, device),) = op.outputs
    added = f"{edge}_channels", device
    squeezed = _call_after_reader(op, added, edge, "Squeeze", {"axes": (len(axes) - 1,)})
    return [replace(reader, outputs=(added,)), squeezed]


def _replaced_arguments(op: TracedOp, kept: Collection[str] = ()) -> str:
    """Return a message that lists the reader arguments that the graph's source replaces."""
    lost = (name for name in SELECTING if name in op.args and name not in kept)
    named = (f"{name}={shortened(op.args[name])}" for name in lost)
    return f"{', '.join(named) or 'its data'} is not imported: pass the data when you run the graph"


def _features_by_name(op: TracedOp, ops: Collection[TracedOp]) -> list[TracedOp] | None:
    """Return a source that reads the same features or components, or None if unsupported."""
    components = op.schema == "readers__Webdataset"
    names = _as_tuple(op.args.get("ext" if components else "feature_names", ()))
    if len(names) != len(op.outputs):
        return None
    kinds = (
        _component_types(op, len(names)) if components else _as_tuple(op.args.get("features", ()))
    )
    decoded = {
        edge.edge for each in ops if each.schema.startswith(_DECODING) for edge in each.inputs
    }
    texts = tuple(
        f"{name}: {'image' if kind == 'bytes' and edge in decoded else kind}"
        for name, kind, (edge, _) in zip(names, kinds, op.outputs, strict=True)
    )
    kind = "webdataset_features" if components else "tfrecord_features"
    features = features_in(texts, TYPES[load_source(kind).op])
    if len(features) != len(texts):
        return None
    args = {name: value for name, value in op.args.items() if name not in ("ext", "dtypes")}
    return [
        replace(
            op,
            schema=load_source(kind).op,
            args={**args, "features": tuple(map(str, features))},
            kind=kind,
            ports=tuple(output_names(features)),
            changed=_replaced_arguments(op, ("ext",)),
        )
    ]


def _component_types(op: TracedOp, count: int) -> tuple[str, ...]:
    """Return the type of each component: bytes, or the numbers that ``dtypes`` declares."""
    given = op.args.get("dtypes", ())
    numbers = given if isinstance(given, tuple) else (given,) * count
    named = [enum_names("DALIDataType").get(each, "") for each in numbers] or ["UINT8"] * count  # type: ignore[arg-type]
    words = ["float32" if name == "FLOAT" else name.lower() for name in named]
    return tuple("bytes" if word == "uint8" else f"{word}[?]" for word in words)


def _record_io(op: TracedOp) -> TracedOp:
    """Return a source of images and float labels. The label count is read from the first record."""
    kind, path, width = "record_io_labels", op.args.get("path"), 1
    why = "its records cannot be read here: label_width=1 is assumed"
    if isinstance(path, tuple) and len(path) == 1:
        with suppress(DataError, OSError):
            start = load_source(kind).start_args(Dataset("record_io", str(path[0])))
            width = start["label_width"]
            why = f"its records have label_width={width} labels"
    return replace(
        op,
        schema=load_source(kind).op,
        args={**op.args, "label_width": width},
        kind=kind,
        ports=("jpegs", "values"),
        changed=f"{why}; {_replaced_arguments(op)}",
    )


def _call_after_reader(
    reader: TracedOp, output: tuple[str, Device], edge: str, schema: str, args: Mapping[str, Value]
) -> TracedOp:
    """Return a call that computes ``edge`` from the output of the replacement reader."""
    return replace(
        reader,
        schema=schema,
        name=f"{reader.name}_{schema.lower()}",
        display=schema.lower(),
        module="nvidia.dali.fn",
        inputs=(TracedInput(*output),),
        outputs=((edge, output[1]),),
        args=args,
        changed="",
    )


def _dtype_number(dtype: str) -> int:
    return next(value for value, name in enum_names("DALIDataType").items() if name == dtype)


def _video_calls(op: TracedOp, used_edges: Collection[str]) -> list[TracedOp]:
    names = _video_outputs(op)
    if len(names) != len(op.outputs):
        return [replace(op, refused=f"the meaning of its {len(op.outputs)} outputs is unknown")]
    named = dict(zip(names, op.outputs, strict=True))
    unused = {
        arg: name
        for arg, name in _EXTRA_OUTPUTS.items()
        if name not in named or named[name][0] not in used_edges
    }
    ports = tuple(name for name in named if name not in unused.values())
    args = {name: value for name, value in op.args.items() if name not in unused}
    if args.get("enable_frame_num") in (True, "True"):
        args["enable_frame_num"] = "scalar"
    op = replace(op, outputs=tuple(named[port] for port in ports), args=args)
    if op.schema == _VIDEO:
        if "labels" in ports:
            return [op]
        return [replace(op, kind="video", ports=ports, changed=_replaced_arguments(op))]
    own = {name: value for name, value in op.args.items() if name not in _RESIZING}
    steps: list[tuple[str, Mapping[str, Value]]] = []  # from the last to the first
    if op.schema == _VIDEO_RESIZE:
        steps.append(("Resize", {n: value for n, value in op.args.items() if n in _RESIZING}))
    as_float = own.pop("dtype", 0) != 0
    if own.pop("normalized", False):
        steps.append(("Normalize", {"mean": 0.0, "stddev": 255.0}))
    elif as_float:
        steps.append(("Cast", {"dtype": _dtype_number("FLOAT")}))
    if own.pop("pad_sequences", False):
        own["pad_mode"] = "constant"
    lost = {name: value for name, value in own.items() if _USUAL.get(name, value) != value}
    note = f", without {', '.join(f'{n}={v}' for n, v in lost.items())}" if lost else ""
    note += "; frames are rounded to integers before they become floats" * as_float
    if not op.args.get("file_root"):
        note += f". {_replaced_arguments(op)}"
    outputs = list(op.outputs)
    made: list[TracedOp] = []
    for schema, options in steps:
        (edge, device), *_ = outputs
        outputs[0] = (f"{edge}_{schema.lower()}_input", device)
        made.insert(0, _call_after_reader(op, outputs[0], edge, schema, options))
    reader = replace(
        op,
        schema=_VIDEO,
        args={name: value for name, value in own.items() if name not in _USUAL},
        outputs=tuple(outputs),
        kind="video",
        ports=ports,
        changed=f"experimental.readers.video reads it, also on the CPU{note}",
    )
    return [reader, *made]


def _video_outputs(op: TracedOp) -> list[str]:
    """Return the names of a video reader's outputs, in DALI's order."""
    labelled = "labels" in op.args or any(op.args.get(name) for name in ("file_root", "file_list"))
    extra = [
        name
        for arg, name in _EXTRA_OUTPUTS.items()
        if op.args.get(arg) not in (None, False, "none", "None", "False")
    ]
    return ["frames", *(["labels"] if labelled else []), *extra][: len(op.outputs)]
