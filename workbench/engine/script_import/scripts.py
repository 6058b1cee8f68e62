"""Run a user's script or notebook in the worker process to find its pipelines.

DALI's pipelines are neither built nor run. The script is stopped where it would run one, because
the pipeline is fully defined at that point. After that line, only definitions are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.emit.pipeline_import.trace.traced import Loss, Traced
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.auto_augment_import import noted_calls, with_noted
from workbench.engine.script_import.call_arguments import python_source
from workbench.engine.script_import.dali_patches import (
    BlockedCall,
    older_names_in_dali,
    recording_pipelines,
)
from workbench.engine.script_import.opened_script import OpenedScript, opened_script
from workbench.engine.script_import.pipeline_discovery import (
    FoundPipeline,
    find_pipeline,
    has_pipeline,
    name_of,
    note_of_data,
    other_pipeline_notes,
    with_placeholder_data,
)
from workbench.engine.script_import.pipeline_factories import is_pipeline
from workbench.engine.script_import.placeholders import StandIn, StandInError
from workbench.engine.script_import.statement_runner import StopScriptError, one_process
from workbench.engine.script_import.tracing import preload_imports, trace_pipeline
from workbench.engine.script_import.user_code.numba_calls import recording_numba_calls
from workbench.engine.script_import.user_code.python_sources import recording_objects
from workbench.errors import ImportFailedError


@task
def trace_source(
    worker: Worker,
    path: str,
    pipeline: str | None,
    arguments: Mapping[str, Any],
    seconds: float,
) -> Traced:
    """Run a script or notebook, and trace one of its pipelines.

    Raises ImportFailedError with the line if the script fails or exceeds a limit, or if it contains
    no pipeline or several.
    """
    preload_imports()
    with (
        opened_script(worker, path, arguments, seconds) as script,
        recording_pipelines(script.made, script.lines.stand_ins) as blocked,
        noted_calls() as noted,
        recording_numba_calls(),
        recording_objects(),
        older_names_in_dali(),
    ):
        script.lines.stand_ins.note_pipelines = lambda values: _note_pipelines(values, script.made)
        made_up = with_placeholder_data(script.cells, Path(script.module.__file__ or "").parent)
        script.run()
        ran = list(script.made)
        chosen = _requested_pipeline(script, pipeline, arguments)
        script.assumed = chosen.assumed
        with one_process() as variables:
            pipe, traced = _traced(chosen, blocked)
        traced = with_noted(traced, noted)
    name, about = name_of(traced, script.module.__doc__, Path(path).stem, type(pipe))
    notes = [note_of_data(made_up.values())] if made_up else []
    if variables := [*variables, *script.launcher_variables()]:
        notes.append(f"read as one process with one GPU: the script uses {', '.join(variables)}")
    others: tuple[str, ...] = ()
    if script.stopped:
        notes.append(f"the script was stopped at {script.stopped}, where it runs a pipeline")
        others = other_pipeline_notes(script, traced, pipe) if pipeline is None else ()
    lines = script.lines
    is_new = _script_lines(traced, script) not in [
        _script_lines(trace_pipeline(each), script) for each in ran
    ]
    traced, losses = script.uses.reported(traced, lines.skipped + lines.unread * is_new)
    return replace(
        traced,
        name=name,
        about=about,
        notes=(*notes, *lines.all_notes(), *chosen.notes),
        changed=(*map(Loss, (*chosen.choice, *others)), *losses),
        placeholders=(*chosen.placeholders, *made_up, *script.uses.texts()),
        pipelines=chosen.pipelines,
        assumed={name: python_source(value) for name, value in chosen.assumed.items()},
        shard=chosen.shard,
    )


def _script_lines(traced: Traced, script: OpenedScript) -> set[tuple[str, int]]:
    """Return the lines in functions of the script that call a pipeline's operators."""
    places = [place for op in traced.pipeline.ops for place in op.places]
    inside = [p for p in places if p.file in script.trees and p.function != "<module>"]
    return {(place.file, place.line) for place in inside}


def _requested_pipeline(
    script: OpenedScript, pipeline: str | None, arguments: Mapping[str, Any]
) -> FoundPipeline:
    """Return the requested pipeline. If the script has none, raise the script's first failure."""
    try:
        return find_pipeline(script, pipeline, arguments)
    except ImportFailedError:
        if script.lines.failures and not has_pipeline(script):
            raise script.lines.failures[0] from None
        raise


def _note_pipelines(values: Any, pipelines: list[Any]) -> None:
    """Record pipelines that are passed to a stand-in, such as an iterator of a missing library."""
    for value in values:
        if isinstance(value, list | tuple):
            _note_pipelines(value, pipelines)
        elif is_pipeline(value) and not any(value is other for other in pipelines):
            pipelines.append(value)


def _traced(chosen: FoundPipeline, blocked: BlockedCall) -> tuple[Any, Traced]:
    try:
        with blocked.stand_in_for_results():
            pipe = chosen.make()
    except StopScriptError as enough:
        pipe = enough.pipeline
    settings = (pipe.max_batch_size, pipe.num_threads, pipe.device_id, pipe.seed)
    for each in (*settings, *(getattr(pipe, "_graph_out", None) or ())):
        if isinstance(each, StandIn):
            raise StandInError(repr(each))
    return pipe, trace_pipeline(pipe)
