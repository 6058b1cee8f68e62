"""Run the pipeline or loader of an exported program in the caller's own process.

This is done only on explicit request, because a crash in DALI then ends the caller's process.
Everything else runs in the worker.
"""

from __future__ import annotations

import itertools
import math
import os
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib.util import module_from_spec, spec_from_file_location
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
from PIL import Image, UnidentifiedImageError

from workbench.arguments import (
    FLAG,
    TEXT,
    WHOLE,
    argument_errors_as,
    checked,
    format_value,
    require_library,
    require_names,
    warn_caller,
)
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.emit.core.code import Code
from workbench.emit.targets import export, target_names
from workbench.engine.build.pipelines import pipeline_error, plain_reason
from workbench.engine.protocol.exit_status import is_file_fault
from workbench.engine.protocol.progress import one_line_interrupt
from workbench.engine.resources.missing_gpu import require_gpu_if_used
from workbench.errors import (
    ArgumentError,
    DataError,
    GraphExportError,
    PipelineError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.dataset_parameters import (
    parameters,
    require_datasets,
    with_datasets,
)
from workbench.graph.model import GRAPH, Graph
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources import (
    Data,
    Dataset,
    Datasets,
    is_unlabelled,
    list_samples,
    load_source,
    open_datasets,
    require_dataset,
    unreadable_reason,
)
from workbench.sources.class_folders import IMAGES
from workbench.sources.data_facts import MOST_READ
from workbench.sources.python_data import LABEL_FAULT

LIBRARIES: Mapping[str, str] = {"torch": "pytorch", "jax": "jax", "numpy": "script"}
"""Export targets from which loaders are created, by array library."""
_NOT_OPTIONS = {
    "shuffle": "The reader shuffles: wb.read(data, random_shuffle=True).",
    "drop_last": "Every sample is used: skip a shorter last batch in the loop.",
    "collate_fn": "Batches are tensors already: use operators of the graph, or wb.node.",
    "transform": "Use operators of the graph, or wb.node.",
}
"""Advice for loader options of other libraries that are not supported here, by option."""
_MOST_SECONDS = 3
"""Time limit in seconds of the search for the file at which DALI stopped."""
_numbers = itertools.count()
_programs: dict[str, Code] = {}
"""Code of each imported program by file name. The code maps lines to nodes."""


def import_program(graph: Graph, target: str, data: Datasets) -> ModuleType:
    """Import the program that a target exports for a graph, and return its module.

    The program's temporary file exists as long as the module, because DALI reads its source code
    again. The warnings of ``check_warnings`` are issued as UserWarning. Raises the errors of
    ``export``, and ImportError if the program's library is not installed.
    """
    for warning in check_warnings(graph):
        warn_caller(str(warning))
    made = export(graph, target, data=data, facts={}, plain=True)
    folder = tempfile.TemporaryDirectory(prefix="workbench-program-")
    path = Path(folder.name, "program.py")
    path.write_text(made.main.text, encoding="utf-8")
    name = f"workbench_program_{next(_numbers)}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    vars(module)["_folder"] = folder
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    _programs[str(path)] = made.main
    return module


def build_pipeline(graph: Graph, data: Datasets, **options: Any) -> Any:
    """Build a graph's DALI pipeline by calling ``build_pipeline`` of its exported script.

    Returns a list of pipelines for a graph with several parallel pipelines. ``options`` are
    arguments of the script's function, such as ``batch_size`` and ``device``. Raises
    GraphFaultsError if the graph cannot run, and DataError if the data cannot be used.
    """
    return _built(_build_function(import_program(graph, "script", data)), graph, data, options)


def make_loader(
    graph: Graph,
    data: Datasets,
    library: str = "torch",
    epochs: int | None = 1,
    restart: bool = False,
    **options: Any,
) -> InProcessLoader:
    """Create the ``Loader`` of the exported program in this process.

    ``library`` is ``torch``, ``jax`` or ``numpy``. If ``restart``, each loop begins a new epoch.
    ``options`` are arguments of the program's ``build_pipeline``.

    Raises GraphExportError for any other library and for several image sizes, and the errors of
    ``export``.
    """
    if library not in LIBRARIES:
        raise GraphExportError(
            f"loader: there is no library {library!r}. Use one of {', '.join(LIBRARIES)}, or "
            "export the graph for another target."
        )
    if epochs is not None and (type(epochs) is not int or epochs < 1):
        raise GraphExportError(
            f"epochs is {epochs!r}. Use an integer of 1 or more, or None to repeat endlessly."
        )
    require_library(library, f"w.loader({library!r})")
    kinds = TypedGraph(graph, load_catalog())
    labels = [name for name, port in graph.outputs.items() if kinds.kind(port) == "label"]
    if labels and len(data) == 1 and is_unlabelled(*data.values()):
        warn_caller(
            f"The data have no labels, so {labels[0]!r} is 0 for every sample. Pass labels with "
            "the data, or output the images alone: wb.outputs(images=graph.images)."
        )
    program = import_program(graph, LIBRARIES[library], data)
    if library == "jax":  # its loader builds one pipeline per device
        made = _built(program.Loader, graph, data, options)
    else:
        built = _built(_build_function(program), graph, data, options)
        # Several pipelines go on with the one whose turn it is.
        if library == "numpy":
            made = _ArrayBatches(built, graph, data)
            return InProcessLoader(made, graph, epochs, data, options, restart)
        turn = {"checkpoint": options.get("checkpoint")} if isinstance(built, list) else {}
        with _explaining_bad_files(data):  # some start to read
            made = program.Loader(built, **turn)
    return InProcessLoader(made, graph, epochs, data, options, restart)


@checked(graph=GRAPH, library=TEXT, restart=FLAG)
def loader(
    graph: Graph,
    data: Data | None = None,
    library: str = "torch",
    epochs: int | None = 1,
    restart: bool = False,
    **options: Any,
) -> InProcessLoader:
    """Return a loader of batches as ``torch`` tensors, ``jax`` arrays or NumPy arrays.

    The batches equal those of the exported script. The last batch of an epoch may be shorter with
    ``torch``, and is filled from the next epoch with ``numpy``. If a loop ends early, as with
    ``next(iter(loader))``, the next loop continues the epoch, with a UserWarning. With
    ``restart=True``, the rest of the epoch is run and discarded, and each loop begins a new epoch,
    as with a ``DataLoader`` of PyTorch. DALI runs in this process, so a crash of DALI ends it.

    ``data`` is any data that ``Workbench`` accepts, by default the data of the graph. The other
    arguments and errors are those of ``Workbench.loader``. Raises DataError without data.

    ::

        for images, labels in wb.loader(graph, "photos", epochs=1, batch_size=4):
            print(images.shape)
    """
    libraries = (*LIBRARIES, *target_names(), "tf")
    if isinstance(data, str) and data in libraries and not os.path.exists(data):
        raise ArgumentError(f"loader: data is {data!r}. Pass a library by name: library={data!r}.")
    given = graph.datasets if data is None else open_datasets(data)
    if given:
        graph = with_datasets(graph.whole, given)
    with argument_errors_as(loader.__name__, build_pipeline.__name__):
        return make_loader(graph, given or {}, library, epochs, restart, **options)


class InProcessLoader:
    """Iterates over batches as tuples, in the order of the graph's outputs.

    ``len`` is the number of batches per epoch; with a Python source there is none. All batches of
    ``jax`` have the same size: at the end of an epoch the last sample is repeated, and ``valid`` of
    ``loader.batches`` marks the samples that are not repetitions. If a loop ends early, the next
    loop continues the epoch, with a UserWarning; with ``restart``, the rest of the epoch is
    skipped. A loader has one iterator at a time: an older iterator raises RuntimeError. A file that
    cannot be read or decoded raises DataError, which explains how to exclude bad files. Other
    failures raise PipelineError.

    ::

        loader = w.loader("torch", epochs=2)
        assert loader.outputs == ("images", "labels") and len(loader) > 1
    """

    def __init__(
        self,
        batches: Any,
        graph: Graph,
        epochs: int | None,
        data: Datasets,
        options: Mapping[str, Any],
        restart: bool = False,
    ) -> None:
        self.batches = batches
        """The loader object of the exported program."""
        self.outputs = tuple(graph.outputs)
        self.epochs = epochs
        self.graph = graph
        """The graph with the settings of this loader."""
        settings = {f.name: options[f.name] for f in fields(graph.settings) if f.name in options}
        if settings:
            self.graph = set_setting(graph, **settings)
        self.data = data
        self.restart = restart
        self._is_started = self._is_warned = False

    def __len__(self) -> int:
        return len(self.batches)

    def checkpoint(self) -> Any:
        """Return the loader's position, for ``checkpoint=`` of another loader of the same graph.

        Raises ArgumentError if the loader was created without ``resumable=True``::

            loader = wb.loader(g, "photos", resumable=True)
            rest = wb.loader(g, "photos", resumable=True, checkpoint=loader.checkpoint())
        """
        try:
            return self.batches.checkpoint()
        except (AttributeError, RuntimeError, ValueError) as error:
            raise ArgumentError(
                f"This loader cannot save checkpoints ({error}). Create it with resumable=True."
            ) from error

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        position, resumes = self.batches._position, self._is_started
        self._is_started = True
        if position and resumes and self.restart:
            with one_line_interrupt(), _explaining_bad_files(self.data):
                for _ in self.batches:
                    pass  # the rest of the epoch: DALI cannot skip it
        elif position and resumes and not self._is_warned:
            self._is_warned = True
            warn_caller(
                f"This loop continues the epoch at batch {position + 1}{self._of_all}, where the "
                "previous loop stopped. Create the loader with restart=True to begin a new epoch "
                "in each loop."
            )
        return self._iterate()

    def __getitem__(self, place: object) -> NoReturn:
        raise UnsupportedUseError(
            f"A loader cannot be indexed: [{place!r}]. Use a loop, or next(iter(loader))."
        )

    def __next__(self) -> NoReturn:
        raise UnsupportedUseError(
            "A loader is iterable, but not an iterator. Use a loop, or next(iter(loader))."
        )

    def _iterate(self) -> Iterator[tuple[Any, ...]]:
        turns = itertools.count() if self.epochs is None else range(self.epochs)
        batches = itertools.chain.from_iterable(self.batches for _ in turns)
        while True:
            with one_line_interrupt(), _explaining_bad_files(self.data):
                batch = next(batches, None)
            if batch is None:
                return
            yield tuple(batch[name] for name in self.outputs)

    def __repr__(self) -> str:
        epochs = {None: "endless epochs", 1: "1 epoch"}.get(self.epochs, f"{self.epochs} epochs")
        count = f"{len(self)} batches an epoch, " if self._of_all else ""
        return f"<loader of {', '.join(self.outputs)}: {count}{epochs}>"

    @property
    def _of_all(self) -> str:
        """Text with the number of batches of an epoch, or an empty string if it is unknown."""
        fed = any(node.op == PYTHON_SOURCE.name for node in self.graph.nodes)
        return "" if fed else f" of {len(self)}"


class _ArrayBatches:
    """Iterates over the batches of a script's pipelines as dictionaries of NumPy arrays."""

    def __init__(self, built: Any, graph: Graph, data: Datasets) -> None:
        self._pipes = built if isinstance(built, list) else [built]
        self._turns = itertools.cycle(self._pipes)
        kinds = TypedGraph(graph, load_catalog())
        self._labels = {name: kinds.kind(port) == "label" for name, port in graph.outputs.items()}
        self._position = 0
        self._newest: object = None
        self._count: int | None = None
        if not data and any(node.op == PYTHON_SOURCE.name for node in graph.nodes):
            return  # it ends an epoch
        known = [meta["epoch_size"] for pipe in self._pipes for meta in pipe.reader_meta().values()]
        samples = (
            max(known)
            if known
            else max(sum(1 for _ in list_samples(dataset)) for dataset in data.values())
        )
        size = self._pipes[0].max_batch_size
        if samples < size:
            warn_caller(
                f"The batch size is {size}, but the data have {samples} samples, which are "
                "repeated to fill a batch. Use a smaller batch_size."
            )
        self._count = math.ceil(samples / size)

    def __len__(self) -> int:
        if self._count is None:
            raise TypeError("the number of batches is unknown: a Python source ends an epoch")
        return self._count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._newest = current = object()
        count = self._count or sys.maxsize
        for number in range(self._position, count):
            if self._newest is not current:
                raise RuntimeError("A newer iterator replaced this one. Use that one.")
            pipe = next(self._turns)
            try:
                outputs = pipe.run()
            except StopIteration:
                pipe.reset()
                self._position = 0
                if not number:
                    raise RuntimeError("The source has ended, and does not start again.") from None
                return
            self._position = (number + 1) % count
            yield {
                name: self._arrays(output, is_label)
                for (name, is_label), output in zip(self._labels.items(), outputs, strict=True)
            }

    @staticmethod
    def _arrays(output: Any, is_label: bool) -> Any:
        there = output.as_cpu()
        if not there.is_dense_tensor():
            return [np.array(each) for each in there]
        made = np.array(there.as_array())
        return made.reshape(-1) if is_label and made.shape[1:] == (1,) else made


def program_error(error: Exception) -> PipelineError | None:
    """Convert an exception of an imported program's pipeline, or return None for another error."""
    file = next((each for each in _programs if f'"{each}"' in str(error)), None)
    return None if file is None else pipeline_error(error, _programs[file], file)


@contextmanager
def _explaining_bad_files(data: Datasets) -> Iterator[None]:
    """Within the context, convert DALI's errors: to DataError for bad files, else PipelineError."""
    try:
        yield
    except OSError as error:
        if LABEL_FAULT not in str(error):
            raise
        raise DataError(str(error)) from None
    except Exception as error:
        if not is_file_fault(str(error)):
            if (explained := program_error(error)) is None:
                raise
            raise explained from error
        for each in data.values():
            bad = next((s for s in list_samples(each) if s.fault), None) if each.in_memory else None
            if bad is not None:
                raise DataError(
                    f"Sample {bad.name} of the data ({each}) cannot be read: {bad.fault}. Fix or "
                    "remove this sample; wb.check_folder(data) lists all bad samples."
                ) from None
        files = [each for each in data.values() if not each.in_memory]
        if not files:
            raise
        remedies = [
            f"`workbench check {shlex.quote(each.text or str(each))} --full --good "
            f"{'good.txt' if load_source(each.kind).lists_files else 'good'}`"
            for each in files
            if each.location
        ]
        found = [text for each in files for text in _bad_files(each)]
        cause = ", ".join(found[:3]) + f" and {len(found) - 3:,} more" * (len(found) > 3)
        fix = f"Run {' and '.join(remedies)}, and use the result as data."
        if not remedies:
            fix = "Remove such files from the list; wb.check_folder(data).bad has them all."
        raise DataError(
            f"A data file cannot be read or decoded: {cause or plain_reason(error)}. {fix}"
        ) from None


def _bad_files(dataset: Dataset) -> list[str]:
    """Return the names of a dataset's files that Pillow cannot decode, with the reasons.

    The first ``MOST_READ`` files are checked, for at most ``_MOST_SECONDS``. The result is empty if
    samples are not image files.
    """
    kind, end, found = load_source(dataset.kind), time.monotonic() + _MOST_SECONDS, list[str]()
    if not (kind.in_files and kind.op == "readers.file"):
        return found
    for sample in itertools.islice(list_samples(dataset), MOST_READ):
        if time.monotonic() > end:
            break
        reason = sample.fault or unreadable_reason(sample.path)
        if not reason and sample.path.lower().endswith(IMAGES):
            try:
                with warnings.catch_warnings(action="ignore"), Image.open(sample.path) as image:
                    image.load()
            except UnidentifiedImageError:
                reason = "not an image"
            except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
                reason = str(error)
        if reason:
            found.append(f"{sample.name} ({reason})")
    return found


def _build_function(program: ModuleType) -> Callable[..., Any]:
    """Return the function that builds a program's pipeline, or all of its parallel pipelines."""
    found: Callable[..., Any] = getattr(program, "build_pipelines", None) or program.build_pipeline
    return found


def _built(
    build: Callable[..., Any], graph: Graph, data: Datasets, options: Mapping[str, Any]
) -> Any:
    """Call a program's build function. The options are checked like settings of the graph."""
    for name in options:
        if name in _NOT_OPTIONS:
            raise UnknownNameError(
                f"{build_pipeline.__name__} has no argument {name!r}. {_NOT_OPTIONS[name]}"
            )
    require_names(build_pipeline.__name__, options, signature(build))
    settings = {f.name: options[f.name] for f in fields(graph.settings) if f.name in options}
    _require_shard(options)
    updated = set_setting(graph, **settings)
    faults = [f for f in check_graph(updated) if f.code == "setting"]
    if faults:
        raise ArgumentError(f"{build_pipeline.__name__}: {faults[0]}")
    require_gpu_if_used(updated)
    return build(**_checked_data(graph, data), **options)


def _require_shard(options: Mapping[str, Any]) -> None:
    shard, count = options.get("shard_id", 0), options.get("num_shards", 1)
    if not (WHOLE.fits(shard) and WHOLE.fits(count) and 0 <= shard < count):
        raise ArgumentError(
            f"shard_id is {format_value(shard)} and num_shards is {format_value(count)}. Use "
            "integers, with shard_id from 0 to num_shards - 1."
        )


def _checked_data(graph: Graph, data: Datasets) -> dict[str, Any]:
    require_datasets(graph, data)
    for dataset in data.values():
        require_dataset(dataset)
    if not data and parameters(graph.nodes):
        raise DataError("No data are set. Pass a folder of images.")
    return {name: dataset.argument for name, dataset in data.items()}
