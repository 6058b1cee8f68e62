"""The function ``compare_transforms``: compare a library's transforms with DALI, one by one."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

import numpy as np

from workbench.arguments import WHOLE, Kind, checked
from workbench.catalog import load_catalog
from workbench.emit.interop.graph import LIBRARIES, decoded_images, import_transforms
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.errors import ArgumentError, CancelledError, DataError, WorkbenchError
from workbench.figures import plot_pictures
from workbench.graph.model import Graph, Source
from workbench.pipeline_difference.changes.catalogue import levels_of
from workbench.pipeline_difference.measure import (
    Array,
    Failed,
    Item,
    as_array,
    channels_last,
    image_difference,
    levels_per_unit,
)
from workbench.pipeline_difference.pictures import pair_picture
from workbench.pipeline_difference.sides.dali_steps import DALI, DaliBackend, graph_side
from workbench.pipeline_difference.sides.library_steps import (
    LIBRARY,
    decode_with_pillow,
    library_backend,
    library_state,
)
from workbench.pipeline_difference.sides.opening import as_png
from workbench.pipeline_difference.sides.pinned import PinnedTransform, pinned_transforms
from workbench.pipeline_difference.steps import Side, Step, StepRunner
from workbench.results import (
    DocumentedResult,
    ResultDocument,
    ResultPicture,
    ResultTable,
    record_result,
)
from workbench.sources import PARAMETER, Data, Sample, list_samples, no_files_reason, open_datasets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SAMPLES = 256
_MOST_PLOTTED = 12
_IMPORTED = Kind.of("workbench.from_file(...)", ImportedGraph)
_QUIET = {"NO_ALBUMENTATIONS_UPDATE": "1"}
"""Environment variable that prevents Albumentations from checking for updates on a server."""
_GENERATING = ("random.", "math.", "transforms.", "constant", "shape", "stack", "cast", "subscript")
"""Prefixes of operators that generate, count or reshape values instead of changing pixels."""


@dataclass(frozen=True, slots=True)
class ComparedTransform:
    """One transform: its call with fixed values, the DALI nodes, and the measured difference.

    ``mean`` and ``largest`` are in 8-bit levels and ``equal`` is the fraction of equal values
    (floats: closer than half a level); they are None if nothing was measured. ``sizes`` describes
    images whose sizes differ. ``why`` is the reason if nothing was compared. ``notes`` are known
    deviations and replaced parts. ``place`` is the location in the script, such as ``train.py:12``.
    """

    name: str
    text: str
    place: str
    library: str
    nodes: tuple[str, ...]
    state: Literal["compared", "not compared", "no match"] = "not compared"
    mean: float | None = None
    largest: float | None = None
    equal: float | None = None
    sizes: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    picture: ResultPicture | None = None
    """The photo with the largest difference: the library's result, DALI's result, and the
    difference.
    """


@dataclass(frozen=True, slots=True, repr=False)
class TransformComparison(DocumentedResult):
    """Comparison of a library's transforms with their DALI nodes, on the same photos.

    ``transforms`` are in the order of the composition. ``versions`` are the versions of the
    libraries. ``missing`` maps each library that could not be used to the reason why. A notebook
    shows both results of the photo with the largest difference.

    ::

        saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
        compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
        assert [each.name for each in compared.transforms] == ["HorizontalFlip"]
    """

    name: str
    samples: int
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    transforms: tuple[ComparedTransform, ...]
    left_out: tuple[str, ...] = ()
    """Files that cannot be decoded."""

    @property
    def compared(self) -> tuple[ComparedTransform, ...]:
        """Compared transforms: those with different sizes first, then by decreasing difference."""
        found = [each for each in self.transforms if each.state == "compared"]
        return tuple(sorted(found, key=lambda e: -math.inf if e.mean is None else -e.mean))

    def document(self) -> ResultDocument:
        done, every = self.compared, len(self.transforms)
        libraries = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        verdict = (
            f"{len(done)} of {every} transforms compared{' with ' * bool(libraries)}{libraries} on "
            f"{self.samples} photo{'s' * (self.samples != 1)}"
        )
        if done:
            first = "different sizes" if done[0].mean is None else f"{done[0].mean:.2f} of 255"
            verdict += f"; largest difference: {done[0].text}, {first}"
        sentences = [f"{verdict}."]
        if done:
            sentences.append("Random ranges are fixed to their upper end, and p to 1.")
        whys = [each.why for each in self.transforms]
        sentences += [
            f"{fault}. Transforms not compared for this reason: {whys.count(fault)}."
            for fault in self.missing.values()
        ]
        if self.left_out:
            sentences.append(
                f"Skipped, because they cannot be decoded: {', '.join(self.left_out)}."
            )
        rows = tuple(
            (
                each.text, ", ".join(each.nodes), each.state, each.mean, each.largest, each.equal,
                "; ".join(filter(None, (each.why, each.sizes, *each.notes))), each.place,
            )
            for each in self.transforms
        )  # fmt: skip
        columns = ("transform", "nodes", "state", "mean", "largest", "equal", "remarks", "line")
        table = ResultTable("Differences in 8-bit levels", columns, rows)
        pictures = tuple(each.picture for each in done if each.picture is not None)
        title = f"{self.name}: transforms and their DALI nodes"
        return ResultDocument("compare_transforms", title, tuple(sentences), (table,), pictures)

    def plot(self) -> Figure:
        """Return a matplotlib figure with the library's and DALI's results next to each other.

        For each transform, the figure shows the photo with the largest difference. It contains the
        twelve transforms that differ most. Raises ArgumentError if nothing was compared.

        ::

            saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
            compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
            if compared.compared:  # empty if Albumentations is missing
                figure = compared.plot()
        """
        from PIL import Image

        shown = [(e.text, e.picture) for e in self.compared if e.picture is not None]
        if not shown:
            why = "; ".join([*self.missing.values()] or ["no transform could be compared"])
            raise ArgumentError(f"plot: there are no pictures, because {why}.")
        more = len(shown) - _MOST_PLOTTED
        rest = f", the {_MOST_PLOTTED} largest differences of {len(shown)}" if more > 0 else ""
        return plot_pictures(
            [np.asarray(Image.open(io.BytesIO(e.data))) for _, e in shown[:_MOST_PLOTTED]],
            [text for text, _ in shown],
            f"{self.name}: library, DALI and four times the difference{rest}",
            columns=2,
        )


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
    nodes, on the first ``samples`` photos (1 to 256), which Pillow decodes once. ``diff`` compares
    whole pipelines instead. Random values are fixed on both sides: each range to its upper end, and
    ``p`` to 1. A transform is listed with the reason if its random values cannot be fixed (such as
    noise), if it has no counterpart, or if its library is not installed. The script does not run
    again; the library's classes run in a worker process.

    ::

        saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
        compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
        print(compared)  # states if Albumentations is not installed

    Raises ArgumentError if ``imported`` is not a composition, and DataError if the data cannot be
    used.
    """
    call = imported.transforms
    if call is None:
        raise ArgumentError(
            f"compare_transforms: {imported.graph.name!r} is a DALI pipeline. Pass an imported "
            "composition of torchvision, Albumentations, Kornia or timm; Workbench.verify "
            "compares a graph with its script."
        )
    if not 1 <= samples <= MOST_SAMPLES:
        raise ArgumentError(f"compare_transforms: samples is {samples}. Use 1 to {MOST_SAMPLES}.")
    photos, left_out = _decoded(data, samples)
    states: dict[str, tuple[str, str]] = {}
    found: list[ComparedTransform] = []
    with Engine(environment=_QUIET) as engine:
        runner = StepRunner({DALI: DaliBackend(engine), LIBRARY: library_backend(engine)})

        def fault_of(library: str) -> str:
            if library in LIBRARIES and library not in states:
                states[library] = engine.call(library_state, library)
            return states.get(library, ("", ""))[0]

        steps = pinned_transforms(call)
        for place, step in enumerate(steps):
            on_progress(place / len(steps), step.text)
            found.append(_compared(runner, step, photos, fault_of))
    on_progress(1.0, "")
    result = TransformComparison(
        imported.graph.name,
        len(photos),
        {name: version for name, (fault, version) in states.items() if not fault},
        {name: fault for name, (fault, _) in states.items() if fault},
        tuple(found),
        left_out,
    )
    record_result(result)
    return result


def _decoded(data: Data, samples: int) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return the decoded photos by file name, and the files that cannot be decoded."""
    datasets = open_datasets(data)
    if set(datasets) != {PARAMETER}:
        raise DataError(
            f"The data have the names {', '.join(map(repr, datasets))}, but a composition reads "
            f"only {PARAMETER!r}. Pass one folder of photos."
        )
    files: list[Sample] = list(islice(list_samples(datasets[PARAMETER]), samples))
    if not files:
        raise DataError(no_files_reason(datasets[PARAMETER]))
    photos: dict[str, Array] = {}
    bad: dict[str, str] = {}
    for each in files:
        try:
            with each.with_location().open() as file:
                photos[each.name] = decode_with_pillow(file.read())
        except Exception as error:  # whatever Pillow raises
            bad[each.name] = str(error)
    if not photos:
        name, why = next(iter(bad.items()))
        raise DataError(f"No photo can be compared: {name}: {why}. Use a folder with other images.")
    return photos, tuple(bad)


def _compared(
    runner: StepRunner,
    step: PinnedTransform,
    photos: Mapping[str, Array],
    fault_of: Callable[[str], str],
) -> ComparedTransform:
    made = import_transforms(step.composition)
    issues = made.report.entries
    compared = ComparedTransform(
        step.call.short_name,
        step.text,
        step.call.place,
        step.within,
        nodes_of(
            made.graph,
            decoded_images("folder"),
            _ops(import_transforms(step.conversions_alone).graph),
        ),
        notes=(*step.notes, *(each.why for each in issues if each.kind == "changed")),
    )
    refused = [each.why for each in issues if each.kind == "refused"]
    if refused:
        return replace(compared, state="no match", why="; ".join(dict.fromkeys(refused)))
    random = _random_operators(made.graph)
    if random:
        return replace(compared, why=f"its random values cannot be fixed ({', '.join(random)})")
    calls = (*step.before, step.call)
    fault = next((fault for each in calls if (fault := fault_of(each.library))), "")
    if fault:
        return replace(compared, why=fault)
    group = f"{LIBRARY}:A:{step.within}"
    pixels: list[Item] = [*photos.values()]
    try:
        dali = graph_side(made.graph, "the import", "B")
        library = Side(step.within, tuple(Step((), "", group, each, repr(each)) for each in calls))
        theirs = runner.run(library.steps, pixels)
        again = runner.run(library.steps, pixels[:1])
        ours = runner.run(dali.steps, [as_png(each) for each in pixels])
    except CancelledError:
        raise
    except WorkbenchError as error:  # the next call starts another worker
        return replace(compared, why=" ".join(str(error).split()).partition(". ")[0])
    failed = next((each.why for each in (*theirs, *ours) if isinstance(each, Failed)), "")
    if failed:
        return replace(compared, why=failed)
    if not np.array_equal(as_array(theirs[0]), as_array(again[0]), equal_nan=True):
        why = "its random values cannot be fixed: the library returns other pixels when it repeats"
        return replace(compared, why=why)
    return _measured(compared, list(photos), (library, dali), (theirs, ours), pixels)


def _measured(
    compared: ComparedTransform,
    names: Sequence[str],
    sides: tuple[Side, Side],
    results: tuple[Sequence[Item], Sequence[Item]],
    pixels: Sequence[Item],
) -> ComparedTransform:
    theirs, ours = ([channels_last(as_array(each)) for each in side] for side in results)
    types = theirs[0].dtype, ours[0].dtype
    if (types[0] == np.uint8) != (types[1] == np.uint8):
        return replace(compared, why=f"the library returns {types[0]}, DALI {types[1]}")
    gain = 1.0
    if types[0] != np.uint8:
        spread = max(float(np.std(np.concatenate([each.ravel() for each in theirs]))), 1e-9)
        gain = levels_per_unit([theirs], [levels_of(sides[0]) or levels_of(sides[1])], pixels)
        gain /= spread
    sizes, worst = [], (-1.0, -1)
    means, most, same = [], 0.0, []
    for at, (a, b) in enumerate(zip(theirs, ours, strict=True)):
        if a.shape != b.shape:
            sizes.append(f"{a.shape} and {b.shape}")
            continue
        one = image_difference(a, b, 1.0)
        means.append(one.mean * gain)
        most = max(most, one.largest * gain)
        same.append(float((np.abs(a.astype(np.float32) - b) * gain < 0.5).mean()))
        worst = max(worst, (one.mean, at))
    at = max(0, worst[1])
    return replace(
        compared,
        state="compared",
        mean=float(np.mean(means)) if means else None,
        largest=most if means else None,
        equal=float(np.mean(same)) if same else None,
        sizes=f"sizes differ in {len(sizes)} of {len(names)}: {sizes[0]}" if sizes else "",
        picture=pair_picture(f"{compared.text}, {names[at]}", theirs[at], ours[at], None),
    )


def nodes_of(graph: Graph, start: Graph, skipped: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the operators after the decoded images that change pixels.

    Operators in ``skipped`` are omitted too, unless ``skipped`` contains all operators.
    """
    known = {node.id for node in start.walk()}
    ops = _ops(graph, known)
    others = [op for op in ops if op not in skipped] or ops
    return tuple([op for op in others if not op.startswith(_GENERATING)] or others)


def _ops(graph: Graph, but: Collection[str] = ()) -> list[str]:
    return [*dict.fromkeys(node.op for node in graph.walk() if node.id not in but)]


def _random_operators(graph: Graph) -> tuple[str, ...]:
    catalog = load_catalog()
    ops = [node.op for node in graph.walk() if not isinstance(node, Source)]
    return tuple(dict.fromkeys(op for op in ops if catalog[op].seeded))
