"""Import pipeline objects, scripts, notebooks and serialised pipelines as graphs."""

from __future__ import annotations

import os
import re
import signal
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.arguments import MAPPING, NUMBER, PATH, TEXT, checked
from workbench.catalog import load_catalog
from workbench.emit.embedded_graph import code_of
from workbench.emit.interop.graph import (
    LIBRARIES,
    from_saved,
    import_transforms,
)
from workbench.emit.pipeline_import.embedded import import_embedded
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.pipeline_import.trace.serialized_pipeline import LARGEST, read_pipeline
from workbench.emit.pipeline_import.trace.traced import Traced
from workbench.emit.pipeline_import.transform_call import from_plain
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import one_line_interrupt
from workbench.engine.script_import.opened_script import LARGEST_SCRIPT
from workbench.engine.script_import.scripts import trace_source
from workbench.engine.script_import.tracing import trace_pipeline
from workbench.engine.transform_tracing.recorded_calls import DALIS_TORCHVISION
from workbench.engine.transform_tracing.tracing import TracedTransform, trace_transform
from workbench.errors import (
    GraphFormatError,
    ImportFailedError,
    WorkerLostError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.graph.execution.dataset_parameters import parameters, with_datasets
from workbench.graph.storage.import_report import ImportIssue
from workbench.sources import open_dataset, require_dataset

Task = Callable[..., Any]
"""Task of the worker that runs a script and traces the resulting pipeline."""
SECONDS = 60.0
"""Default time limit of a script in seconds."""
_GRACE = 20.0
"""Additional seconds in which the worker can report the line at which the script hangs."""
_MARK = "DALI_WORKBENCH_IMPORT"
"""Environment variable that identifies processes started by a script."""


@checked(name=TEXT, source=PATH)
def from_pipeline(
    pipe: Any, name: str = "imported", source: str | Path | None = None
) -> ImportedGraph:
    """Import an ``nvidia.dali.Pipeline``, built or not, without changing it.

    GPU and mixed pipelines can be read on a machine without a GPU. Operators that a graph cannot
    represent become opaque nodes, which the report lists. ``source`` is as for ``from_file``.
    Raises ImportFailedError if ``pipe`` is not a pipeline or DALI cannot build its graph.

    ::

        found = wb.from_pipeline(w.pipeline())
        assert found.report.is_exact and found.graph.has("rotate")
    """
    return import_traced(trace_pipeline(pipe, name), load_catalog(), _kind(source))


def _kind(source: str | Path | None) -> str:
    """Return the source kind of the data at ``source`` (empty for None), or raise DataError."""
    if source is None:
        return ""
    dataset = open_dataset(source)
    require_dataset(dataset)
    return dataset.kind


@checked(path=PATH, pipeline=TEXT, args=MAPPING, seconds=NUMBER, source=PATH)
@one_line_interrupt()
def from_file(
    path: str | Path,
    pipeline: str | None = None,
    args: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    source: str | Path | None = None,
) -> ImportedGraph:
    """Import a pipeline from a file: ``.py``, ``.ipynb``, or a serialised ``.dali``.

    A script or notebook without a DALI pipeline is searched for a composition of torchvision,
    Albumentations, Kornia or timm, installed or not; ``.yaml`` and ``.json`` are compositions saved
    by Albumentations.

    A program exported by the workbench contains its graph in a comment at its end. If the program's
    code, except formatting and comments, is unchanged, the graph is read without running anything.
    The report says so, or says why the graph is not used.

    **Any other script or notebook is run**, in a separate process, without its ``__main__`` part.
    It is stopped where it would run, serialise or draw a pipeline; after that line only functions,
    classes and imports are read. It writes no files. Missing modules are replaced by placeholders,
    and a failing top-level line does not end the run. The report names both.

    ``pipeline`` names a function with ``@pipeline_def``, a class derived from ``Pipeline``, a
    method as ``Class.method``, any function that returns a pipeline or a loader with one, or a
    variable that contains a pipeline; it may be omitted if there is only one. ``"__main__"`` runs
    the ``__main__`` part too, and reads the pipeline that it runs. A composition may also be an
    item of a dictionary (``transforms.train``), a function with a line if the function creates
    several (``main:12``), or a key of a configuration (``data.train.transform``). ``args`` are
    passed to the function, its class, the script's command line, or to a variable that is set only
    under ``__main__``; a mapping is passed as settings, which are available by attribute and by
    key. Missing required arguments get the default of the script's command line, and the report
    lists them as assumed; without such a default the import fails. ``seconds`` is the time limit.
    ``source`` is a folder of images, or other data, which replaces the input of the pipeline.

    Raises ImportFailedError, which names the line of the script, and DataError for an unreadable
    ``source``.

    ::

        pathlib.Path("pipe.py").write_text(w.to_code())
        found = wb.from_file("pipe.py", args={"data": "photos"})
        print(found.report)
    """
    file = Path(path).expanduser()
    if file.suffix in (".py", ".ipynb"):
        given = dict(args or {})
        try:
            embedded = _embedded(file, pipeline, given, source)
        except GraphFormatError as error:
            reason = f"the graph stored in {file.name} was not used. {error}"
        else:
            if embedded is not None:
                return embedded
            reason = ""
        try:
            found = _from_script(file, pipeline, given, seconds, _kind(source))
        except ImportFailedError as error:
            if not reason:
                raise
            raise type(error)(f"{error}\nNote: {reason}") from None
        if reason:
            report = replace(found.report, notes=(reason, *found.report.notes))
            found = replace(found, document=replace(found.document, report=report))
        return found
    if file.suffix in (".yaml", ".yml", ".json"):
        if args:
            raise ImportFailedError(
                f"{path} is a saved composition, which has no arguments. Omit them."
            )
        return from_saved(file, file.stem, pipeline)
    if pipeline is not None or args:
        raise ImportFailedError(
            f"{path} is a serialised pipeline, which has no pipeline name and no arguments. Omit "
            "both."
        )
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as error:
        raise ImportFailedError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return import_traced(Traced(read_pipeline(data), file.stem), load_catalog(), _kind(source))
    except ImportFailedError as error:
        other = "" if file.suffix == ".dali" else " A script ends in .py, a notebook in .ipynb."
        raise type(error)(f"{path}: {error}{other}") from None


def _embedded(
    file: Path, pipeline: str | None, args: Mapping[str, Any], source: str | Path | None
) -> ImportedGraph | None:
    """Return the graph embedded in an exported program, or None if it cannot be used."""
    try:
        if file.stat().st_size > LARGEST_SCRIPT:
            return None
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None  # the worker reports the error
    found = import_embedded(text, str(file), load_catalog())
    if found is None:
        return None
    if pipeline is not None and not _defines_pipeline(text, pipeline):
        raise GraphFormatError(f"The stored graph has no pipeline {pipeline!r}.")
    reads = parameters(found.graph.nodes)
    if others := args.keys() - reads.keys():
        raise GraphFormatError(
            f"The stored graph has no parameter {', '.join(map(repr, sorted(others)))}. It has "
            f"{', '.join(reads) or 'none'}."
        )
    if source is not None:
        if not all(each.finds_data for each in found.graph.sources):
            raise GraphFormatError(
                "The source of the stored graph does not read this kind of data."
            )
        graph = with_datasets(found.graph, dict.fromkeys(reads, open_dataset(source)))
        found = replace(found, document=found.document.with_graph(graph))
    folder = next((str(args[name]) for name in reads if name in args), "")
    return replace(found, data=folder)


def _defines_pipeline(program: str, name: str) -> bool:
    known = rf"^(?:(?:def|class) {re.escape(name)}\b|{re.escape(name)} = Pipeline\()"
    return re.search(known, code_of(program), re.MULTILINE) is not None


def _from_script(
    file: Path, pipeline: str | None, args: Mapping[str, Any], seconds: float, kind: str
) -> ImportedGraph:
    def composition() -> ImportedGraph:
        made = _in_worker(trace_transform, str(file), pipeline, args, seconds)
        assert isinstance(made, TracedTransform)
        call = from_plain(made.call)
        return import_transforms(
            call,
            made.name or file.stem,
            made.notes,
            kind or "folder",
            made.assumed,
            [ImportIssue("changed", "", place, why) for place, why in made.losses],
        )

    _refuse_dynamic_mode(file)
    of_dali, of_others = _libraries_of(file)
    if of_others and not of_dali:
        return composition()
    try:
        traced = _in_worker(trace_source, str(file), pipeline, args, seconds)
    except ImportFailedError as error:
        meant = pipeline is not None or "has no pipeline" in str(error)
        if not of_dali and "has no pipeline" in str(error):
            return composition()
        if of_others and meant:  # it has both, and a composition may be intended
            with suppress(ImportFailedError):
                return composition()
        raise error
    assert isinstance(traced, Traced)
    return import_traced(traced, load_catalog(), kind)


_DYNAMIC = re.compile(rb"nvidia\.dali\.experimental(\.| +import +)dynamic")


def _refuse_dynamic_mode(file: Path) -> None:
    with suppress(OSError):
        text = file.read_bytes()
        if _DYNAMIC.search(text) and not re.search(rb"pipeline_def|\bPipeline\b", text):
            raise ImportFailedError(
                f"{file} was not run: it uses DALI's dynamic mode, which has no graph. Write the "
                "same calls in a function with @pipeline_def."
            )


_OF_DALI = re.compile(rb"nvidia\.dali|nvidia +import +(\w+, *)*dali")


def _libraries_of(file: Path) -> tuple[bool, bool]:
    """Return (True if a script uses DALI, True if it uses another supported library).

    The first is also True for a file that is unreadable or too large, because the import of DALI
    scripts reports the error.
    """
    try:
        text = file.read_bytes()
    except OSError:
        return True, False
    if len(text) > LARGEST_SCRIPT:
        return True, False
    text = text.replace(DALIS_TORCHVISION.encode(), b"torchvision")
    return _OF_DALI.search(text) is not None, any(name.encode() in text for name in LIBRARIES)


def _in_worker(
    traced: Task, path: str, name: str | None, args: Mapping[str, Any], seconds: float
) -> object:
    mark = str(uuid.uuid4())
    try:
        with Engine(call_limit=seconds + _GRACE, environment={_MARK: mark}) as engine:
            return _call_worker(engine, traced, path, name, args, seconds)
    finally:
        _end_what_is_left(f"{_MARK}={mark}".encode())


def _call_worker(
    engine: Engine,
    traced: Task,
    path: str,
    name: str | None,
    args: Mapping[str, Any],
    seconds: float,
) -> object:
    try:
        return engine.call(traced, path, name, args, seconds)
    except WorkerSilentError as error:
        raise ImportFailedError(f"{path}: {error}") from None
    except WorkerTimeoutError:
        raise ImportFailedError(
            f"{path}: the script did not finish within {seconds:g} s and could not be interrupted. "
            "Move slow code under `if __name__ == '__main__'`, or raise the limit (--seconds)."
        ) from None
    except WorkerLostError as error:
        why, _, words = str(error).partition("\nIts last output:\n")
        ending = why.partition(". ")[0].removeprefix("The worker ")
        printed = f"\nIt printed last:\n{words}" if words else ""
        raise ImportFailedError(
            f"{path}: the script's process {ending} before the script was read.{printed}"
        ) from None


def _end_what_is_left(mark: bytes) -> None:
    """End the remaining processes of a script that crashed the worker.

    Processes in their own sessions are identified by an environment variable. A process that
    replaced its environment is not found here, but the worker ends it.
    """
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # ended already, or another user's
            if mark in environment.read_bytes().split(b"\0"):
                os.kill(int(environment.parent.name), signal.SIGKILL)
