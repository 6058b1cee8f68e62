"""What a graph gives for one batch, as arrays: the batch that its exported script gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.figures import plot_pictures
from workbench.graph.types.devices import is_generator
from workbench.preview.request import PreviewRequest, run_request
from workbench.preview.views.texts import augmentations_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BYTES = 2**30
"""Of one batch, which travels from the worker in one piece."""
_MOST_PLOTTED = 16
_LIBRARIES = ("numpy", "torch", "jax", "cupy")


@dataclass(frozen=True, slots=True)
class OutputArrays:
    """One output: an array for each sample, as the exported script gives it."""

    name: str
    layout: str
    arrays: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class BatchArrays:
    """All outputs, and what was drawn: for each draw a value a sample, empty where none came.

    ``applied`` has for each node of automatic augmentation what it did to each sample, in words;
    ``folder`` is another text after a change of the data.
    """

    outputs: tuple[OutputArrays, ...]
    samples: tuple[Sample, ...]
    draws: dict[str, tuple[NDArray[Any], ...]]
    applied: dict[str, list[str]]
    folder: str = ""


@task
def read_outputs(worker: Worker, request: PreviewRequest) -> BatchArrays:
    """Task: every output of a sound graph for the samples of the request.

    Raises PipelineError, DataError, CancelledError, and GraphError for more than a GiB.
    """
    run = run_request(worker, request)
    found = {name: run.result.batches[port] for name, port in run.graph.outputs.items()}
    size = sum(batch.nbytes for batch in found.values())
    if size > MOST_BYTES:
        raise GraphError(
            f"The batch has {size / 2**30:.1f} GiB; {MOST_BYTES / 2**30:g} are the limit. Give "
            "fewer samples: w.batch(0, samples=16)."
        )
    draws: dict[str, tuple[NDArray[Any], ...]] = {}
    for node in (*run.nodes, *run.inner_nodes):
        if is_generator(run.resolved.spec(node)):
            values: list[NDArray[Any]] = []
            for index in range(len(run.result.samples)):
                at = run.output_place(node.id, index)
                port = next(p for p in run.result.batches if p.node == node.id)
                one = () if at is None else run.result.batches[port].sample(at).arrays()[0]
                values.append(np.array(one))
            draws[node.id] = tuple(values)
    outputs = tuple(
        OutputArrays(name, batch.layout, tuple(np.array(each) for each in batch.arrays()))
        for name, batch in found.items()
    )
    version = run.result.plan.version
    return BatchArrays(outputs, run.result.samples, draws, augmentations_of(run), version)


@dataclass(frozen=True)
class OutputBatch(Mapping[str, Any]):
    """One batch of a graph: its outputs by name, as attributes or items.

    An output is one array, shape (samples, ...), where all samples have one shape, else a tuple of
    arrays. Pixels are in the output's own layout (``layouts``) and element type.

    Attributes
    ----------
    number:
        Which batch, from 0.
    files:
        The file of each sample, relative to the data.
    errors:
        Why a file cannot be used, by its name; another stands in its place.
    draws:
        What was drawn for each sample, by the node's id: numbers, None where a sample did not come
        to a draw inside a block; of automatic augmentation what it did, ``rotate -27, equalize``.
    folder:
        Another text after a change of the data.

    An unknown output raises AttributeError, or KeyError as an item, with the known ones.

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
    sheet: bytes = field(default=b"", repr=False)
    folder: str = field(default="", repr=False)

    def __getitem__(self, name: str) -> Any:
        if name not in self.arrays:
            raise KeyError(self._unknown(name))
        return self.arrays[name]

    def _unknown(self, name: object) -> str:
        return f"The batch has no output {name!r}. It has {', '.join(self.arrays)}."

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.arrays:
            raise AttributeError(self._unknown(name))
        return self.arrays[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.arrays})

    def to(self, library: str) -> OutputBatch:
        """The batch with arrays of another library, on the CPU but for cupy.

        ``library`` is ``numpy``, ``torch``, ``jax`` or ``cupy``. Raises ValueError for another, and
        ImportError where it is not installed.

        ::

            arrays = w.batch(0).to("numpy").images
        """
        convert = _converter(library)
        arrays = {
            name: tuple(map(convert, value)) if isinstance(value, tuple) else convert(value)
            for name, value in self.arrays.items()
        }
        return replace(self, arrays=arrays)

    def to_frame(self) -> Any:
        """A pandas frame: a row a sample with its file and draws, and outputs of one number.

        ::

            print(w.batch(0).to_frame().describe())

        Raises ImportError where pandas is not installed.
        """
        import pandas

        columns: dict[str, Any] = {"file": list(self.files)}
        for name, values in self.arrays.items():
            flat = [np.asarray(value).reshape(-1) for value in values]
            if all(each.size == 1 for each in flat):
                columns[name] = [each[0].item() for each in flat]
        return pandas.DataFrame({**columns, **self.draws})

    def plot(self, output: str = "") -> Figure:
        """A figure of matplotlib: the pictures of 16 samples at most, each with its file.

        ``output`` is the first of images by default. Values of other types than uint8 are shown
        from their least to their greatest, of a sequence the first frame. Raises GraphError for an
        output that has no pictures.

        ::

            figure = w.batch(0).plot()
            figure.set_size_inches(8, 8)
        """
        shown = [name for name, layout in self.layouts.items() if {"H", "W"} <= {*layout}]
        name = output or next(iter(shown), "")
        if name not in shown:
            there = f"Those with pictures are {', '.join(shown)}." if shown else "It has none."
            raise GraphError(f"The batch has no pictures {name!r} to plot. {there}")
        layout = self.layouts[name]
        files = self.files[:_MOST_PLOTTED]
        pictures = [_picture(self.arrays[name][index], layout) for index in range(len(files))]
        return plot_pictures(pictures, files, f"{name} of batch {self.number}")

    def __repr__(self) -> str:
        lines = [f"batch {self.number}: {len(self.files)} samples"]
        for name, value in self.arrays.items():
            several = isinstance(value, tuple)
            first = value[0] if several else value
            shape = "×".join(map(str, first.shape))
            words = f"{len(value)} arrays, the first " if several else ""
            lines.append(f"  {name}: {words}{shape} {first.dtype} {self.layouts[name]}".rstrip())
        if self.draws:
            lines.append(f"  draws: {', '.join(self.draws)}")
        if self.errors:
            lines.append(f"  not usable: {', '.join(self.errors)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        shown: dict[str, Any] = {"text/plain": repr(self)}
        if self.sheet:
            shown["image/jpeg"] = self.sheet
        else:
            shown["text/html"] = f"<pre>{escape(repr(self))}</pre>"
        return shown, {}


def output_batch(number: int, found: BatchArrays, sheet: bytes = b"") -> OutputBatch:
    """The batch that a worker has read."""
    return OutputBatch(
        number,
        {each.name: _stacked(each.arrays) for each in found.outputs},
        {each.name: each.layout for each in found.outputs},
        tuple(sample.file for sample in found.samples),
        {sample.file: sample.error for sample in found.samples if sample.error},
        {name: [_number(value) for value in values] for name, values in found.draws.items()}
        | found.applied,
        sheet,
        found.folder,
    )


def _stacked(arrays: Sequence[NDArray[Any]]) -> Any:
    if len({(array.shape, array.dtype) for array in arrays}) == 1:
        return np.stack(arrays)
    return tuple(arrays)


def _picture(value: Any, layout: str) -> NDArray[Any]:
    """An image of any layout as ``imshow`` takes it: HWC of three channels, or HW."""
    array = np.asarray(value.get() if hasattr(value, "get") else value)  # cupy's are on the GPU
    first = tuple(slice(None) if axis in "HWC" else 0 for axis in layout)
    kept = [axis for axis in layout if axis in "HWC"]
    array = array[first].transpose([kept.index(axis) for axis in "HWC" if axis in kept])
    if array.ndim == 3:
        array = array[..., :3] if array.shape[2] > 2 else array[..., 0]
    if array.dtype == np.uint8:
        return array
    low, high = float(array.min()), float(array.max())
    return (array.astype(np.float32) - low) / max(high - low, 1e-9)


def _number(value: NDArray[Any]) -> Any:
    """A drawn value as Python has it; None where there is none."""
    return None if value.shape == (0,) else value.tolist()


def _converter(library: str) -> Any:
    match library:
        case "numpy":
            return np.asarray
        case "torch":
            import torch

            return torch.from_numpy
        case "jax":
            import jax.numpy

            return jax.numpy.asarray
        case "cupy":
            import cupy

            return cupy.asarray
    raise ValueError(f"library is {library!r}. Give one of {', '.join(_LIBRARIES)}.")
