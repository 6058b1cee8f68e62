"""Compare the transforms of a composition with their DALI equivalents, on the user's photos."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import islice

from workbench.arguments import WHOLE, Kind, checked
from workbench.catalog import load_catalog
from workbench.emit.interop.graph import LIBRARIES, decoded_images, import_transforms
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.emit.pipeline_import.transform_call import to_plain
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.errors import (
    ArgumentError,
    CancelledError,
    DataError,
    EngineError,
    ImportFailedError,
    WorkerLostError,
)
from workbench.graph.builder.data_node import main_output
from workbench.graph.model import Graph, Source
from workbench.sources import (
    PARAMETER,
    Data,
    Dataset,
    list_samples,
    no_files_reason,
    open_datasets,
    require_dataset,
)
from workbench.transform_comparison.measured_transform import (
    MeasuredTransform,
    library_state,
    measure_transform,
)
from workbench.transform_comparison.pinned import PinnedTransform, pinned_transforms
from workbench.transform_comparison.result import ComparedTransform, TransformComparison

__all__ = ["MOST_SAMPLES", "TransformComparison", "compare_transforms"]

MOST_SAMPLES = 256
_IMPORTED = Kind.of("workbench.from_file(...)", ImportedGraph)
_QUIET = {"NO_ALBUMENTATIONS_UPDATE": "1"}
"""Environment variable that prevents Albumentations from checking for updates on a server."""
_DRAWING = ("random.", "math.", "transforms.", "constant", "shape", "stack", "cast", "subscript")
"""Prefixes of operators that generate, count or reshape values instead of changing pixels."""


@checked(imported=_IMPORTED, samples=WHOLE)
@with_progress_bar()
def compare_transforms(
    imported: ImportedGraph,
    data: Data,
    samples: int = 8,
    *,
    on_progress: Progress = lambda share, text: None,
) -> TransformComparison:
    """Measure how far DALI's pixels differ from the library's, for each transform, on photos.

    ``imported`` is a composition, returned by ``from_file``, ``from_torchvision`` or
    ``from_albumentations``. Each of its transforms runs separately, with its library and as DALI
    nodes, on the first ``samples`` photos (1 to 256), which are decoded once. Random values are
    fixed on both sides: each range to its upper end, ``p`` to 1. A transform is listed with the
    reason if its random values cannot be fixed (such as noise), if it has no counterpart, or if its
    library is not installed. The script does not run again; the library's classes run in a worker
    process.

    ::

        saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
        compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
        print(compared)  # states if Albumentations is not installed

    Raises ArgumentError if ``imported`` is not a composition, and DataError for the data.
    """
    call = imported.transforms
    if call is None:
        raise ArgumentError(
            f"compare_transforms: {imported.graph.name} is a DALI pipeline. Pass an imported "
            "composition of torchvision, Albumentations, Kornia or timm; Workbench.verify compares "
            "a graph with its script."
        )
    if not 1 <= samples <= MOST_SAMPLES:
        raise ArgumentError(f"compare_transforms: samples is {samples}. Use 1 to {MOST_SAMPLES}.")
    dataset = _dataset(data)
    count = sum(1 for _ in islice(list_samples(dataset), samples))
    if not count:
        raise DataError(no_files_reason(dataset))
    steps = pinned_transforms(call)
    states: dict[str, tuple[str, str]] = {}
    found: list[ComparedTransform] = []
    with Engine(environment=_QUIET) as engine:

        def fault_of(library: str) -> str:
            if library in LIBRARIES and library not in states:
                states[library] = engine.call(library_state, library)
            return states.get(library, ("", ""))[0]

        for place, step in enumerate(steps):
            on_progress(place / len(steps), step.text)
            found.append(_compared(engine, step, dataset, count, fault_of))
    on_progress(1.0, "")
    measured = [each.measured for each in found if each.state == "compared"]
    return TransformComparison(
        imported.graph.name,
        max((each.samples for each in measured), default=count),
        {name: version for name, (fault, version) in states.items() if not fault},
        {name: fault for name, (fault, _) in states.items() if fault},
        tuple(found),
        tuple(dict.fromkeys(file for each in measured for file in each.left_out)),
    )


def _dataset(data: Data) -> Dataset:
    datasets = open_datasets(data)
    if set(datasets) != {PARAMETER}:
        raise DataError(
            f"The data are named {', '.join(datasets)}, but a composition reads only {PARAMETER}. "
            "Pass a folder of photos."
        )
    require_dataset(datasets[PARAMETER])
    return datasets[PARAMETER]


def _compared(
    engine: Engine,
    step: PinnedTransform,
    dataset: Dataset,
    samples: int,
    fault_of: Callable[[str], str],
) -> ComparedTransform:
    start = decoded_images(dataset.kind)
    made = import_transforms(step.composition, kind=dataset.kind)
    graph = made.graph.with_settings(batch_size=samples)
    issues = made.report.entries
    compared = ComparedTransform(
        step.call.short_name,
        step.text,
        step.call.place,
        step.within,
        nodes_of(graph, start, _ops(import_transforms(step.conversions_alone).graph)),
        notes=(*step.notes, *(each.why for each in issues if each.kind == "changed")),
    )
    refused = [each.why for each in issues if each.kind == "refused"]
    if refused:
        return replace(compared, state="no match", why="; ".join(dict.fromkeys(refused)))
    drawing = _random_operators(graph)
    if drawing:
        return replace(compared, why=f"its random values cannot be fixed ({', '.join(drawing)})")
    needed = [each.library for each in (*step.before, step.call) if each.library in LIBRARIES]
    fault = next((fault for each in needed if (fault := fault_of(each))), "")
    if fault:
        return replace(compared, why=fault)
    catalog = load_catalog()
    ports = tuple(main_output(each, catalog)[1].port for each in (start, graph))
    calls = to_plain([*step.before, step.call])
    try:
        measured: MeasuredTransform = engine.call(
            measure_transform, graph, ports, calls, step.within, {PARAMETER: dataset}, samples
        )
    except CancelledError:
        raise
    except WorkerLostError as error:  # the next call starts another
        why = str(error).partition(". ")[0]
        return replace(compared, why=f"{why[:1].lower()}{why[1:]}")
    except ImportFailedError as error:  # limits of scripts, without the fix for scripts
        return replace(compared, why=str(error).partition(". ")[0])
    except EngineError as error:
        return replace(compared, why=" ".join(str(error).split()))
    if measured.why:
        return replace(compared, why=measured.why)
    return replace(compared, state="compared", measured=measured)


def nodes_of(graph: Graph, start: Graph, skipped: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the operators after the decoded images that change pixels.

    Operators in ``skipped`` are omitted too, unless there are no others.
    """
    known = {node.id for node in start.walk()}
    ops = _ops(graph, known)
    others = [op for op in ops if op not in skipped] or ops
    return tuple([op for op in others if not op.startswith(_DRAWING)] or others)


def _ops(graph: Graph, but: Collection[str] = ()) -> list[str]:
    return [*dict.fromkeys(node.op for node in graph.walk() if node.id not in but)]


def _random_operators(graph: Graph) -> tuple[str, ...]:
    catalog = load_catalog()
    ops = [node.op for node in graph.walk() if not isinstance(node, Source)]
    return tuple(dict.fromkeys(op for op in ops if catalog[op].seeded))
