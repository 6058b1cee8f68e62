"""Return the outputs of a graph for one batch as arrays that equal those of the exported script."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import argument_errors_as, checked, require_choice, require_library
from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError, UnknownNameError
from workbench.figures import plot_pictures, show_figure
from workbench.graph.model import Graph, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import outputs_of
from workbench.names import did_you_mean, shortened
from workbench.preview.pictures.annotation_overlays import Overlays, draw_overlays, overlays_of
from workbench.preview.request import GraphRun, PreviewRequest, run_request
from workbench.preview.requests.texts import (
    augmentations_of,
    label_port,
    labels_of,
    names_of_labels,
    random_values,
    short_values,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 2**30
"""Maximum size of a batch in bytes. The worker sends the batch as a whole."""
_MARKED_SIDE = 240
"""Minimum size of a picture in pixels. Smaller pictures are enlarged, so that class names fit."""
BATCH_LIBRARIES = ("numpy", "torch", "jax", "cupy")


@dataclass(frozen=True, slots=True)
class OutputArrays:
    """One output, as returned by the exported script, with an array per sample."""

    name: str
    layout: str
    arrays: tuple[NDArray[Any], ...]
    marks: tuple[Overlays, ...] = ()
    """Overlays (boxes, points and masks) for each sample's picture."""
    is_label: bool = False
    per_object: bool = False
    """Whether these are labels of boxes, whose number differs between samples."""
    drawn: frozenset[str] = frozenset()
    """Ids of the nodes whose random values this output depends on."""


@dataclass(frozen=True, slots=True)
class BatchArrays:
    """All outputs of a batch, and its random values.

    ``draws`` has one value per sample for each generator; it is empty if the sample did not reach
    the generator. ``applied`` describes, for each node of automatic augmentation, the augmentations
    of each sample. ``classes`` has the name of each sample's class. ``folder`` is a text that
    changes when the data changes. ``epochs`` has the first and the last epoch of the samples.
    """

    outputs: tuple[OutputArrays, ...]
    samples: tuple[Sample, ...]
    draws: dict[str, tuple[NDArray[Any], ...]]
    applied: dict[str, list[str]]
    classes: tuple[str, ...] = ()
    folder: str = ""
    epochs: tuple[int, ...] = ()
    unlabelled: frozenset[str] = frozenset()
    """Label outputs for which the data has no labels."""
    left_out: str = ""
    """Text about any samples that are skipped, or are read without their annotations."""


@task
def read_outputs(worker: Worker, request: PreviewRequest) -> BatchArrays:
    """Task: return every output of a valid graph for the samples of the request.

    Raises PipelineError, DataError, CancelledError, and GraphError for more than 1 GiB.
    """
    run = run_request(worker, request)
    found = {name: run.result.batches[port] for name, port in run.graph.outputs.items()}
    size = sum(batch.nbytes for batch in found.values())
    if size > MOST_BYTES:
        raise GraphError(
            f"The batch has {size / 2**30:.1f} GiB, more than the limit of "
            f"{MOST_BYTES / 2**30:g}. Request fewer samples: w.batch(0, samples=16)."
        )
    label = label_port(run.resolved)
    source = run.graph.node(label.node) if label is not None else None
    of_boxes = source is not None and any(
        output.kind == "boxes" for output in outputs_of(source, run.resolved.spec(source))
    )
    outputs = tuple(
        OutputArrays(
            name,
            batch.layout,
            tuple(np.array(each) for each in batch.arrays()),
            tuple(overlays_of(worker, run, run.images[name])) if name in run.images else (),
            run.resolved.kind(run.graph.outputs[name]) == "label",
            of_boxes,
            _nodes_before(run.graph, run.graph.outputs[name]),
        )
        for name, batch in found.items()
    )
    if label is not None and (
        of_boxes or any(each.size != 1 for each in run.result.batches[label].arrays())
    ):
        label = None  # the labels of boxes, whose names are among the marks
    classes = names_of_labels(worker, run, label, labels_of(label, run.result.batches))
    unlabelled = frozenset(each.name for each in outputs if each.is_label and not any(classes))
    version = run.result.plan.version
    applied = augmentations_of(run)
    draws = {
        name: tuple(np.array(()) if value is None else value for value in values)
        for name, values in random_values(run).items()
    }
    return BatchArrays(
        outputs,
        run.result.samples,
        draws,
        applied,
        tuple(filter(None, classes)),
        version,
        _epochs(worker, run),
        unlabelled if label else frozenset(),
        run.result.left_out,
    )


def _epochs(worker: Worker, run: GraphRun) -> tuple[int, ...]:
    """Return the first and last epoch of a batch's samples, from 1, or () if unknown."""
    sources, settings = run.graph.sources, run.graph.settings
    if len(sources) != 1 or settings.pipelines > 1:
        return ()
    size = worker.runner.readers.epoch_size(run.result.plan.dataset(sources[0]))
    first = run.request.batch * settings.batch_size
    last = first + len(run.result.samples) - 1
    return (first // size + 1, last // size + 1) if size else ()


def _nodes_before(graph: Graph, port: Port) -> frozenset[str]:
    """Return the ids of the nodes that an output depends on, including nodes inside blocks."""
    outer = ancestors(graph, [port])
    return frozenset(node.id for node in graph.walk() if graph.outermost(node.id) in outer)


class RandomValues(dict[str, list[Any]]):
    """Random values by node. An unknown node raises UnknownNameError, which lists the nodes."""

    def __missing__(self, node: object) -> NoReturn:
        known = (
            f"Nodes with random values: {', '.join(self)}."
            if self
            else "No node of the graph is random."
        )
        raise UnknownNameError(f"The batch has no random values of {node!r}. {known}")


@dataclass(frozen=True)
class OutputBatch(Mapping[str, Any]):
    """One batch of a graph: its outputs by name, as attributes or items.

    If all samples of an output have the same shape, it is one array of shape (samples, ...),
    otherwise a tuple of arrays. Labels with one number per sample have the shape (samples,), as in
    exported loaders. Pixels are in the output's own layout (``layouts``) and element type.

    Attributes
    ----------
    number:
        Batch number from 0. Numbers continue through all epochs, as in the script.
    files:
        The file of each sample, relative to the data.
    errors:
        Reasons why files cannot be used, by file name. The pixels of such a sample are those of
        another sample, or a grey placeholder; ``files`` and labels still name the faulty file.
    draws:
        Random values by the id of the node that sampled them: a list with one value per sample,
        None if the sample did not reach a node inside a block. For automatic augmentation, the
        value is a text: ``rotate -27, equalize``.
    classes:
        The name of each sample's class, or its label as text; empty if the data has no labels.
    epochs:
        The first and the last epoch of the samples, counted from 1; empty if unknown.
    folder:
        A text that changes whenever the data changes.

    An unknown output raises UnknownNameError, which lists the known outputs.

    ::

        batch = w.batch(0)
        assert batch.images.shape == (8, 224, 224, 3) and batch.layouts["images"] == "HWC"
        print(batch.files[0], batch.labels[0])
    """

    number: int
    arrays: Mapping[str, Any]
    layouts: Mapping[str, str]
    files: tuple[str, ...]
    errors: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, list[Any]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    marks: Mapping[str, tuple[Overlays, ...]] = field(default_factory=dict, repr=False)
    sheet: bytes = field(default=b"", repr=False)
    folder: str = field(default="", repr=False)
    label_outputs: frozenset[str] = field(default=frozenset(), repr=False)
    drawn: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    epochs: tuple[int, ...] = ()
    unlabelled: frozenset[str] = field(default=frozenset(), repr=False)

    def __getitem__(self, name: str) -> Any:
        if name not in self.arrays:
            raise self._unknown(name)
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def _unknown(self, name: object) -> UnknownNameError:
        hint = did_you_mean(str(name), self.arrays, f"It has {', '.join(self.arrays)}.")
        return UnknownNameError(f"The batch has no output {name!r}. {hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.arrays:
            raise self._unknown(name)
        return self.arrays[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.arrays})

    _written = "batch"

    def to(self, library: str) -> OutputBatch:
        """Convert the arrays to another library, on the CPU except for cupy.

        ``library`` is ``numpy``, ``torch``, ``jax`` or ``cupy``. Labels become int64 for ``torch``,
        as in its loader. Raises ArgumentError for another library, and MissingLibraryError if it
        is not installed.

        ::

            arrays = w.batch(0).to("numpy").images
        """
        convert = _converter(library)
        arrays = {}
        for name, value in self.arrays.items():
            made = [convert(each) for each in (value if isinstance(value, tuple) else [value])]
            if library == "torch" and name in self.label_outputs:
                made = [each.long() for each in made]
            arrays[name] = tuple(made) if isinstance(value, tuple) else made[0]
        return replace(self, arrays=arrays)

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per sample: file, random values, scalar outputs.

        ::

            print(w.batch(0).to_frame().describe())

        Raises MissingLibraryError if pandas is not installed.
        """
        require_library("pandas", "batch.to_frame()")
        import pandas

        columns: dict[str, Any] = {"file": list(self.files)}
        for name, values in self.arrays.items():
            flat = [np.asarray(value).reshape(-1) for value in values]
            if all(each.size == 1 for each in flat):
                columns[name] = [each[0].item() for each in flat]
        return pandas.DataFrame({**columns, **self.draws})

    @checked()
    def plot(
        self,
        output: str = "",
        *,
        rows: int | None = None,
        figsize: tuple[float, float] | None = None,
        ax: Any = None,
    ) -> Figure | Any:
        """Return a matplotlib figure of the samples: class, file, random values and annotations.

        ``output`` is the name of an image or mask output, by default all images side by side.
        Without ``rows``, at most 16 pictures are shown. ``figsize`` is in inches. ``ax`` is an Axes
        into which to draw the grid, or an array of Axes, one for each picture; then ``ax`` is
        returned. A cell that ends with ``plot();`` displays nothing; ``show`` displays the figure.
        ``batch.draws`` has the complete random values. Values of types other than uint8 are scaled
        from minimum to maximum, and a sequence shows its first frame.
        Raises GraphError if there are no pictures, and ArgumentError for invalid arguments.

        ::

            figure = w.batch(0).plot(rows=2, figsize=(8, 4))
            figure.savefig("batch.png")
        """
        shown = [name for name, layout in self.layouts.items() if {"H", "W"} <= {*layout}]
        if output and output not in self.arrays:
            raise self._unknown(output)
        names = [output] if output else [name for name in shown if name in self.marks] or shown
        if not names or not {*names} <= {*shown}:
            there = (
                f"Outputs with pictures: {', '.join(shown)}."
                if shown
                else f"The outputs are {', '.join(self.arrays)}."
            )
            named = f"Output {output!r}" if output else "The batch"
            raise GraphError(f"{named} has no pictures to plot. {there}")
        titles, pictures = [], []
        for index in range(len(self.files)):
            for name in names:
                pictures.append(self._marked_picture(name, index))
                titles.append(self._caption(index, name, len(names) > 1))
        title = f"{', '.join(names)} of batch {self.number}{self._epoch_text}"
        columns = max(1, 4 // len(names)) * len(names)
        return plot_pictures(
            pictures, titles, title, rows=rows, columns=columns, figsize=figsize, ax=ax
        )

    @checked()
    def show(
        self,
        output: str = "",
        *,
        rows: int | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> None:
        """Display ``plot`` in a notebook. Elsewhere, save the picture and print its path.

        ::

            w.batch(0).show(rows=1)
        """
        with argument_errors_as("show", "plot"):
            figure = self.plot(output, rows=rows, figsize=figsize)
        show_figure(figure, f"batch-{self.number}")

    def _caption(self, index: int, name: str, with_name: bool) -> str:
        """Return a caption: the sample's class and file, and random values on the second line."""
        file = os.path.basename(self.files[index])
        named = f"{self.classes[index]} · {file}" if self.classes else file
        if self.files[index] in self.errors:
            named = f"replaces {file}"
        known = [node for node in self.draws if node in self.drawn.get(name, self.draws)]
        stems = Counter(re.sub(r"_\d+$", "", node) for node in known)
        texts = []
        for node in known:
            value = self.draws[node][index]
            if value is not None and value != "":
                text = value if isinstance(value, str) else short_values(np.array(value))
                stem = re.sub(r"_\d+$", "", node)  # the caption has the view's name
                texts.append(f"{stem if with_name and stems[stem] == 1 else node} {text}")
        more = ", ".join(texts)
        more = f"{name}: {more}".rstrip(": ") if with_name else more
        return f"{named}\n{more}".rstrip()

    def _marked_picture(self, name: str, index: int) -> NDArray[Any]:
        picture = _picture(self.arrays[name][index], self.layouts[name])
        marks = self.marks[name][index] if self.marks.get(name) else ()
        if not marks:
            return picture
        if picture.dtype != np.uint8:
            picture = (255 * picture).astype(np.uint8)
        if picture.ndim == 2:
            picture = np.stack([picture] * 3, axis=-1)
        times = max(1, _MARKED_SIDE // max(picture.shape[:2]))  # names need room
        return draw_overlays(picture.repeat(times, 0).repeat(times, 1), marks, names=True)

    @property
    def _epoch_text(self) -> str:
        """Text with the epochs of the samples, or "" if all samples are in the first epoch."""
        if not self.epochs or self.epochs[1] == 1:
            return ""
        first, last = self.epochs
        return f" of epoch {first}" if first == last else f" of epochs {first} to {last}"

    def __repr__(self) -> str:
        lines = [f"batch {self.number}: {len(self.files)} samples{self._epoch_text}"]
        for name, value in self.arrays.items():
            several = isinstance(value, tuple)
            first = value[0] if several else value
            shape = "×".join(map(str, first.shape))
            words = f"{len(value)} arrays, the first " if several else ""
            words = f"  {name}: {words}{shape} {first.dtype} {self.layouts[name]}".rstrip()
            assumed = ", 0 for all: the data have no labels" if name in self.unlabelled else ""
            lines.append(words + assumed)
        if self.draws:
            lines.append(f"  draws: {', '.join(self.draws)}")
        if self.errors:
            lines.append(f"  {unusable_text(self)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        shown: dict[str, Any] = {"text/plain": repr(self)}
        if not self.sheet:
            return shown | {"text/html": f"<pre>{escape(repr(self))}</pre>"}, {}
        alt = repr(self).partition("\n")[0]
        return shown | {"image/jpeg": self.sheet}, {"image/jpeg": {"alt": alt}}


def output_batch(number: int, arrays: BatchArrays, sheet: bytes = b"") -> OutputBatch:
    """Convert the result of ``read_outputs`` to an OutputBatch."""
    return OutputBatch(
        number,
        {each.name: _stacked(each) for each in arrays.outputs},
        {each.name: each.layout for each in arrays.outputs},
        tuple(sample.file for sample in arrays.samples),
        {sample.file: sample.error for sample in arrays.samples if sample.error},
        RandomValues(
            {name: [_as_python(value) for value in values] for name, values in arrays.draws.items()}
            | arrays.applied
        ),
        arrays.classes,
        {each.name: each.marks for each in arrays.outputs if each.marks},
        sheet,
        arrays.folder,
        frozenset(each.name for each in arrays.outputs if each.is_label),
        {each.name: each.drawn for each in arrays.outputs},
        arrays.epochs,
        arrays.unlabelled,
    )


def unusable_text(batch: OutputBatch) -> str:
    """Return a text that lists the unusable samples of a batch, and what replaces them."""
    bad = [file for file in batch.files if file in batch.errors]
    listed = ", ".join(f"{file} ({why.rstrip('.')})" for file, why in batch.errors.items())
    filler = "The batch's first usable sample" if len(bad) < len(batch.files) else "A placeholder"
    return (
        f"{len(bad)} of {len(batch.files)} samples cannot be used: {shortened(listed, 300)}. "
        f"{filler} replaces their content; their files and labels are unchanged."
    )


def _stacked(output: OutputArrays) -> Any:
    if len({(array.shape, array.dtype) for array in output.arrays}) != 1:
        return output.arrays
    made = np.stack(output.arrays)
    single = output.is_label and not output.per_object and made.shape[1:] == (1,)
    return made.reshape(-1) if single else made


def _picture(value: Any, layout: str) -> NDArray[Any]:
    """Convert an image of any layout for ``imshow``: HWC with three channels, or HW."""
    array = np.asarray(value.get() if hasattr(value, "get") else value)  # cupy arrays: on GPU
    first = tuple(slice(None) if axis in "HWC" else 0 for axis in layout)
    axes = [axis for axis in layout if axis in "HWC"]
    array = array[first].transpose([axes.index(axis) for axis in "HWC" if axis in axes])
    if array.ndim == 3:
        array = array[..., :3] if array.shape[2] > 2 else array[..., 0]
    if array.dtype == np.uint8:
        return array
    low, high = float(array.min()), float(array.max())
    return (array.astype(np.float32) - low) / max(high - low, 1e-9)


def _as_python(value: NDArray[Any]) -> Any:
    """Return a random value as a Python object, or None if there is none."""
    return None if value.shape == (0,) else value.tolist()


def _converter(library: str) -> Any:
    require_choice("batch.to: library", library, BATCH_LIBRARIES)
    require_library(library, f"batch.to({library!r})")
    module = import_module({"jax": "jax.numpy"}.get(library, library))
    return module.from_numpy if library == "torch" else module.asarray
