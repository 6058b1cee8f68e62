"""Trace the calls of a pipeline object in the user's process, without building or running it.

DALI stores the arguments of a call in C++ objects that Python cannot read. Therefore the calls are
added to a second pipeline, which is never built, and the arguments are read from its serialised
form. The second pipeline uses no GPU, so that GPU and mixed pipelines can be traced on any machine.
"""

from __future__ import annotations

import copy
import linecache
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from importlib import import_module
from inspect import signature
from typing import Any

from workbench.arguments import format_value
from workbench.emit.pipeline_import.trace.serialized_pipeline import load_message, read_pipeline
from workbench.emit.pipeline_import.trace.source_lines import notebook_of
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.engine.script_import.user_code import python_sources
from workbench.engine.script_import.user_code.numba_calls import numba_arguments
from workbench.engine.script_import.user_code.python_sources import (
    FedSources,
    python_source_arguments,
)
from workbench.errors import ImportFailedError
from workbench.graph.model import Executor
from workbench.names import shortened

_STAND_IN = "ExternalSource"
_HELD = frozenset(
    {"self", "batch_size", "num_threads", "device_id", "seed", "prefetch_queue_depth"}
)
"""Parameters of ``nvidia.dali.Pipeline`` that a graph can represent."""
_DERIVED = frozenset({"py_callback_pickler"})
"""Parameters of ``nvidia.dali.Pipeline`` that DALI derives from other parameters."""
_LONGEST_VALUE = 80
_NUMBERS = re.compile(r"-?\d+")
_NO_OUTPUTS = (
    "The pipeline has no outputs. Return them from its function, or name them in set_outputs."
)


def preload_imports() -> None:
    """Import the modules that tracing needs, before a script can replace them."""
    load_message()
    import_module("nvidia.dali.backend")


def trace_pipeline(pipe: Any, name: str = "imported") -> Traced:
    """Return the calls of an ``nvidia.dali.Pipeline``, built or not, without changing it.

    Raises ImportFailedError if DALI cannot build the pipeline's graph.
    """
    if getattr(pipe, "_deserialized", False):
        traced = read_pipeline(bytes(pipe._pipe.SerializeToProtobuf()))
        return Traced(traced, name, sources=_sources(traced.ops))
    ops, outputs = _graph(pipe)
    traced = _serialised(pipe, ops, outputs)
    return Traced(traced, name, sources=_sources(traced.ops))


def _graph(pipe: Any) -> tuple[list[Any], list[Any]]:
    """Return DALI's calls and outputs, from a copy of the pipeline if it is not built yet."""
    if not hasattr(pipe, "_graph_out") or not hasattr(pipe, "_get_params"):
        raise ImportFailedError(_no_pipeline(pipe))
    if pipe._py_graph_built:
        return pipe._ops, pipe._graph_outputs
    twin = copy.copy(pipe)
    twin._pipe = None  # deleting a copy must not shut down the user's
    twin._sinks = list(pipe._sinks)
    for touches_the_users in (
        "_setup_input_callbacks",
        "_disable_pruned_external_source_instances",
    ):
        setattr(twin, touches_the_users, lambda: None)
    twin._require_no_foreign_ops = lambda message: None  # all belong to the user's pipeline
    try:
        twin._build_graph()
    except NotImplementedError:  # DALI's own define_graph, called if no outputs are set
        raise ImportFailedError(_NO_OUTPUTS) from None
    except Exception as error:
        raise ImportFailedError(
            f"DALI cannot build the pipeline's graph: {type(error).__name__}: {error}"
        ) from error
    return twin._ops, twin._graph_outputs


def _no_pipeline(value: Any) -> str:
    kind = type(value).__name__
    if getattr(value, "_is_pipeline_def", False):
        return f"{value.__name__} is a function that returns a pipeline. Pass its result."
    if kind == "_PipelineDebug":
        return "A pipeline in debug mode has no graph. Create it without debug=True."
    return (
        f"{format_value(value)} is not an nvidia.dali.Pipeline. Pass the result of a function with "
        "@pipeline_def, or use wb.from_file for a script."
    )


def _serialised(pipe: Any, ops: Sequence[Any], outputs: Sequence[Any]) -> TracedPipeline:
    from nvidia.dali import types

    backend: Any = import_module("nvidia.dali.backend")
    params = pipe._get_params()
    batch_size = max(0, params.max_batch_size or 0)  # 0: not set in the source
    num_threads = max(0, params.num_threads or 0)
    params.device_id = None
    params.max_batch_size = batch_size or 1
    params.num_threads = num_threads or 1

    def fresh() -> Any:
        return backend.Pipeline(params)

    refused = {op.name: why for op in ops if (why := _refusal(op, fresh, backend)) is not None}
    whole = fresh()
    for op in ops:
        if op.name in refused:
            for edge in op.outputs:
                whole.AddOperator(_placeholder_spec(backend, edge.name, edge.device), edge.name)
        else:
            whole.AddOperator(op.spec, op.name)
    whole.SetOutputDescs([(e.name, e.device, types.NO_TYPE, -1, "") for e in outputs])
    traced = read_pipeline(bytes(whole.SerializeToProtobuf()))
    executor, depth = _executor(pipe)
    return replace(
        traced,
        executor=executor,
        prefetch_queue_depth=depth or traced.prefetch_queue_depth,
        ops=tuple(_without_stand_ins(traced.ops, ops, refused)),
        device_id=pipe.device_id,
        batch_size=batch_size,
        num_threads=num_threads,
        unheld=_unsupported_settings(pipe),
    )


def _unsupported_settings(pipe: Any) -> dict[str, str]:
    """Return the non-default settings that a graph cannot represent, with values as Python code."""
    from nvidia.dali.pipeline import Pipeline

    executor, depth = _executor(pipe)
    usual = {name: each.default for name, each in signature(Pipeline.__init__).parameters.items()}
    usual["exec_dynamic"] = True  # for None
    supported = _HELD | _DERIVED | ({"exec_dynamic"} if executor != "dynamic" else set())
    unheld = {
        name: _short_text(value)
        for name in usual
        if name not in supported
        and (value := getattr(pipe, f"_{name}", None)) not in (None, usual[name])
    }
    if isinstance(pipe._prefetch_queue_depth, dict) and not depth:  # one for each device
        unheld["prefetch_queue_depth"] = repr(pipe._prefetch_queue_depth)
    return unheld


def _executor(pipe: Any) -> tuple[Executor, int | None]:
    """Return a pipeline's executor, and its queue depth (None if a graph cannot represent it)."""
    if pipe._exec_dynamic or not (pipe._exec_pipelined and pipe._exec_async):
        return "dynamic", None
    depth = pipe._prefetch_queue_depth
    if not isinstance(depth, dict):
        return "static", None
    host, device = depth["cpu_size"], depth["gpu_size"]
    return ("separate", device) if host == 2 * device else ("static", None)


def _short_text(value: Any) -> str:
    text = str(value) if isinstance(value, Enum) else repr(value)
    return shortened(text, _LONGEST_VALUE)


def _placeholder_spec(backend: Any, name: str, device: str) -> Any:
    spec = backend.OpSpec(_STAND_IN)
    spec.AddArg("device", device)
    spec.AddOutput(name, device)
    return spec


def _refusal(op: Any, fresh: Any, backend: Any) -> str | None:
    """Return why DALI cannot serialise a call, or None if it can."""
    if getattr(op, "_callback", None) is not None:
        return "its input is a Python function, which only the source contains"
    alone = fresh()
    made = {(edge.name, _edge_device(edge)) for edge in op.inputs}
    try:
        for name, device in sorted(made):
            alone.AddOperator(_placeholder_spec(backend, name, device), name)
        alone.AddOperator(op.spec, op.name)
        alone.SerializeToProtobuf()
    except Exception as error:
        if "IsSerializable" in str(error):
            return "it runs Python code, which only the source contains"
        return " ".join(str(error).split())
    return None


def _edge_device(edge: Any) -> str:
    return str(next(made.device for made in edge.source.outputs if made.name == edge.name))


def _without_stand_ins(
    traced: Sequence[TracedOp], ops: Sequence[Any], refused: Mapping[str, str]
) -> Iterator[TracedOp]:
    by_name = {op.name: op for op in traced}
    fed: list[Any] = []
    sources = FedSources()
    for op in ops:
        group = getattr(op, "_group", None)
        if op.name in refused and group is not None and not _reader_options(op):
            if not any(group is each for each in fed):
                fed.append(group)
                yield _python_source(op, group, sources)
            continue
        if op.name not in refused:
            found = by_name[op.name]
            yield replace(found, args={**found.args, **_reader_options(op)})
            continue
        texts = _argument_texts(op.spec)
        numba = numba_arguments(op._op)
        regular = op.spec.NumRegularInput()
        yield TracedOp(
            schema=op._op.schema.Name(),
            name=op.name,
            device=op._op.device,
            inputs=tuple(
                TracedInput(edge.name, edge.device, None if index < regular else "argument")
                for index, edge in enumerate(op.inputs)
            ),
            outputs=tuple((edge.name, edge.device) for edge in op.outputs),
            places=_source_locations(texts),
            module=texts.get("_module", ""),
            display=texts.get("_display_name", ""),
            args={**_reader_options(op), **(numba if isinstance(numba, dict) else {})},
            refused=numba if isinstance(numba, str) else refused[op.name],
        )


def _python_source(op: Any, group: Any, sources: FedSources) -> TracedOp:
    """Return one call for all outputs of an external source that Python code feeds."""
    texts = _argument_texts(op.spec)
    places = _source_locations(texts)
    found = python_source_arguments(group, sources)
    args, changed = ({}, "") if isinstance(found, str) else found
    return TracedOp(
        schema=op._op.schema.Name(),
        name=op.name,
        device=op._op.device,
        outputs=tuple(
            (edge.name, edge.device) for each in group.instances for edge in each.outputs
        ),
        places=places,
        module=texts.get("_module", ""),
        display=texts.get("_display_name", ""),
        args=args,
        refused=found if isinstance(found, str) else "",
        changed=changed,
    )


def _reader_options(op: Any) -> dict[str, Any]:
    """Return the options with which an exported script reads data from memory."""
    source = getattr(getattr(op, "_group", None), "source_desc", None)
    return dict(getattr(getattr(source, "source", None), "options", None) or {})


def _argument_texts(spec: Any) -> dict[str, str]:
    """Return the arguments of a call as displayed by DALI, because no other form is available."""
    lines = (line.strip().partition(": ") for line in repr(spec).splitlines())
    return {name: text for name, colon, text in lines if colon}


def _source_locations(texts: Mapping[str, str]) -> tuple[SourceLocation, ...]:
    numbers = [int(text) for text in _NUMBERS.findall(texts.get("_origin_stack_lineno", ""))]
    files, functions = (
        texts.get(f"_origin_stack_{part}", "").strip("[]").split(", ")
        for part in ("filename", "name")
    )
    return tuple(
        SourceLocation(file, line, function, linecache.getline(file, line).strip())
        for file, line, function in zip(files, numbers, functions, strict=False)
        if file != python_sources.__file__  # it calls the ``__init__`` of the script's classes
    )


def _sources(ops: Iterable[TracedOp]) -> dict[str, str]:
    """Return the text of each readable file with calls, including every cell of a notebook."""
    files = {place.file for op in ops for place in op.places if "/nvidia/dali/" not in place.file}
    notebooks = {*map(notebook_of, files)} - {""}
    files |= {file for file in linecache.cache if notebook_of(file) in notebooks}
    texts = {file: "".join(linecache.getlines(file)) for file in files}
    return {file: text for file, text in texts.items() if text}
