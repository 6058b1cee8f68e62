"""Compare the batches of an exported script or PyTorch loader with the preview, bit for bit.

The exported code runs in a new process (``exported_script.py``), and writes one batch at a time to
a temporary folder. The preview engine runs the same batch and compares it sample by sample. With a
loader, at most one epoch is compared.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections import Counter
from dataclasses import astuple, dataclass, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.catalog import load_catalog
from workbench.emit.core.outputs import class_numbers
from workbench.emit.core.user_functions import nodes_calling
from workbench.emit.targets import export
from workbench.engine.file_checks.usable_data import UsableData, describe_left_out
from workbench.engine.protocol.exit_status import is_file_fault
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.progress import Progress, WorkerProgress, with_progress_bar
from workbench.engine.protocol.registry import task
from workbench.engine.reading.findings import CheckedFile
from workbench.engine.run.worker import Worker
from workbench.errors import ArgumentError, CancelledError, EngineError, PipelineError
from workbench.figures import plot_counts
from workbench.graph.checks.check import require_sound
from workbench.graph.execution.active import active_graph
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    parameters,
    require_numbering,
    with_datasets,
)
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.model.graph import changed_settings
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.exported_script import ExportedScript, ScriptError, read_batch
from workbench.roots import Roots
from workbench.sources import Data, Datasets, failure_reason, open_datasets, require_dataset
from workbench.system_limits import describe_refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 20
_INCOMPLETE = (
    "The last batch of a loader is incomplete and is filled up, so DALI's hardware JPEG decoder "
    "gets other images of it than in the preview. Set hw_decoder_load of the decoder to 0 or 1 for "
    "equal pixels."
)
"""Note on deviations in a loader's last batch. On an H200 with ``imagenet-train`` and 120 photos,
116 are identical with the default of ``hw_decoder_load`` (the others differ by up to 4 of 255), and
all are identical with 0 and with 1.
"""
VerifiedTarget = Literal["script", "pytorch"]
"""Export targets that can be compared. A loader's labels are int64 and are compared by value."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """Difference between preview and script in one output of one sample.

    ``values`` is the number of differing elements of ``total``, and ``largest`` is the largest
    absolute difference. Both are None if shapes or element types differ. ``text`` describes the
    difference.
    """

    batch: int
    sample: int
    file: str
    output: str
    text: str
    values: int | None = None
    total: int | None = None
    largest: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Verification:
    """Number of compared samples, and number of samples that are identical in every output.

    ``deviations`` has one entry for each output of a sample that differs. If the comparison ended
    early, ``failure`` is the reason. Both programs ran without the files ``left_out``. ``note``
    names the likely cause of deviations in a loader's last batch.

    ::

        found = w.verify(batches=1)
        assert found.exact and found.identical == found.samples == 8
    """

    samples: int
    identical: int
    batches: int
    device: DecodeDevice
    deviations: tuple[Deviation, ...]
    failure: str = ""
    left_out: tuple[CheckedFile, ...] = ()
    note: str = ""

    @property
    def exact(self) -> bool:
        """True if the comparison finished, no file is missing and all values are identical."""
        return not self.failure and not self._missing and self.identical == self.samples

    @property
    def _missing(self) -> tuple[CheckedFile, ...]:
        return tuple(
            one for one in self.left_out if any(each.kind == "missing" for each in one.findings)
        )

    def lines(self) -> list[str]:
        """Return the report as lines. The last is ``identical: 8 of 8``, unless files are missing.

        Samples of unusable files are not counted. Another line names these files.
        """
        found = [
            f"batch {one.batch}, sample {one.sample} ({one.file}), {one.output}: {one.text}"
            for one in self.deviations[:_NAMED]
        ]
        if len(self.deviations) > _NAMED:
            found.append(f"and {len(self.deviations) - _NAMED} more")
        if self.note:
            found.append(self.note)
        if self.failure:
            found.append(self.failure)
        if self._missing:
            found.append(f"{describe_left_out(self._missing)}; the exported program stops at one")
            return [*found, f"equal for the other files: {self.identical} of {self.samples}"]
        if self.left_out:
            bad = any(one.level == "bad" for one in self.left_out)
            stops = "; an exported program stops at a bad one" * bad
            found.append(f"{describe_left_out(self.left_out)}{stops}")
        return [*found, f"identical: {self.identical} of {self.samples}"]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per deviation. Raises ImportError without pandas.

        ::

            print(w.verify(batches=1).to_frame())
        """
        import pandas

        names = [each.name for each in fields(Deviation)]
        return pandas.DataFrame([astuple(each) for each in self.deviations], columns=names)

    def plot(self) -> Figure:
        """Draw a matplotlib figure of the numbers of identical and differing samples.

        ::

            figure = w.verify(batches=1).plot()
        """
        differ = Counter(f"{each.output} differ" for each in self.deviations)
        title = self.failure or f"{self.samples} samples of {self.batches} batches compared"
        return plot_counts({"identical": self.identical, **differ}, "samples", title)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Verifier:
    """Runs one comparison. ``cancel`` may be called from any thread."""

    def __init__(
        self,
        graph: Graph,
        data: Data,
        batches: int = 3,
        device: DecodeDevice | None = None,
        engine: Engine | None = None,
        roots: Roots | None = None,
        target: VerifiedTarget = "script",
    ) -> None:
        """``device`` overrides the graph's device. Files outside the ``roots`` are excluded.

        The preview runs in ``engine``, between other calls, or by default in a new engine.
        """
        if batches < 1:
            raise ArgumentError(f"verify: batches is {batches}. Use 1 or more.")
        if device is not None:
            graph = replace(graph, settings=changed_settings(graph.settings, {"device": device}))
        self.data = open_datasets(data)
        self.graph = graph
        self.batches = batches
        self.target = target
        self._roots = roots
        self._cancelled = threading.Event()
        self._own = engine is None
        self._progress = WorkerProgress()
        self._engine = engine or self._progress.engine(self._cancelled)
        self._calls = self._engine.handle()
        self._so_far = Verification(0, 0, 0, graph.settings.device, ())

    def cancel(self) -> None:
        """Cancel the comparison: ``run`` raises CancelledError as soon as possible."""
        self._cancelled.set()
        if self._own:
            self._calls.cancel()
        else:  # the worker belongs to others
            self._calls.interrupt()

    def run(self, on_progress: Progress = lambda share, text: None) -> Verification:
        """Compare all batches. Bad files are excluded from the data first.

        Raises GraphFaultsError, DataError, CancelledError, and the errors of the preview engine. A
        failing script raises no error: the Verification contains the failure.
        """
        progress = self._progress
        progress.listener = on_progress
        require_sound(self.graph, load_catalog())
        self.graph = with_datasets(active_graph(self.graph, load_catalog()), self.data)
        self.data = datasets_as_read(self.graph, self.data)
        for dataset in self.data.values():
            require_dataset(dataset, self.graph.settings.device)
        read = parameters(self.graph.nodes)
        usable = UsableData(
            {name: each for name, each in self.data.items() if name in read},
            self._roots,
            progress.on_silence,
            for_preview=True,
        )
        progress(0.0, "looking for bad files")
        self._exclude_bad(usable, full=False)
        try:
            try:
                report = self._compare(usable.datasets)
            except ScriptError as error:
                if not is_file_fault(str(error)):
                    raise
                progress(0.0, "looking for the file that cannot be decoded")
                if not self._exclude_bad(usable, full=True):
                    raise
                report = self._compare(usable.datasets)
        except ScriptError as error:
            words = self._user_function_error(usable.datasets) or _explain(error, usable.datasets)
            report = replace(self._so_far, failure=words)
        finally:
            usable.close()
            if self._own:
                self._engine.close()
        progress(1.0, "done")
        return replace(report, left_out=usable.excluded)

    def _exclude_bad(self, usable: UsableData, *, full: bool) -> bool:
        found = usable.exclude_bad(full, self._cancelled.is_set)
        require_numbering(self.graph.sources, usable.reduced)
        return found

    def _compare(self, data: Datasets) -> Verification:
        """Run one comparison from the start. After a ScriptError, ``_so_far`` has the results."""
        settings = self.graph.settings
        source = export(self.graph, self.target, data=data, facts={}, plain=True).main
        report = Verification(self.batches * settings.batch_size, 0, 0, settings.device, ())
        self._so_far = report
        try:
            folder = tempfile.mkdtemp(prefix="workbench-verify-")
        except OSError as error:
            reason = describe_refusal(error) or error
            raise EngineError(f"The preview and the script were not compared: {reason}") from None
        try:
            self._progress(0.0, "building the script's pipeline")
            with ExportedScript(
                source,
                data,
                settings.device,
                folder,
                self._require_not_cancelled,
                self._progress.on_silence,
            ) as script:
                for batch in range(self.batches):
                    self._progress(batch / self.batches, f"batch {batch + 1} of {self.batches}")
                    path = script.batch(batch)
                    if path is None:
                        left = (self.batches - batch) * settings.batch_size
                        report = self._so_far = replace(report, samples=report.samples - left)
                        break
                    lacking, same, deviations = self._calls.call(
                        compare_batch, self.graph, data, batch, path, self.target
                    )
                    os.unlink(path)
                    report = self._so_far = replace(
                        report,
                        samples=report.samples - lacking,
                        identical=report.identical + same,
                        batches=batch + 1,
                        deviations=(*report.deviations, *deviations),
                    )
                    if lacking and deviations and settings.device == "mixed":
                        report = self._so_far = replace(report, note=_INCOMPLETE)
        except OSError as error:
            reason = describe_refusal(error) or error
            raise EngineError(f"The preview and the script were not compared: {reason}") from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return report

    def _user_function_error(self, data: Datasets) -> str:
        """Return the preview's error for the batch on which the script failed, or "" if none.

        Unlike the script, the preview checks the results of user functions.
        """
        if not any(nodes_calling(self.graph.nodes)):
            return ""
        try:
            self._calls.call(run_batch, self.graph, data, self._so_far.batches)
        except PipelineError as error:
            return f"The exported script fails like the preview: {error}"
        return ""

    def _require_not_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise CancelledError("Cancelled.")


def _explain(error: ScriptError, data: Datasets) -> str:
    for dataset in data.values():
        if reason := failure_reason(dataset, str(error)):
            return reason
    if error.node:
        return f"{error} Change the values of {error.node} or its inputs."
    if error.silent:
        return (
            f"{error} Every file can be decoded. Try again, or export the script and run "
            "it yourself for its full output."
        )
    return str(error)


@with_progress_bar()
def verify(
    graph: Graph,
    data: Data,
    batches: int = 3,
    device: DecodeDevice | None = None,
    on_progress: Progress = lambda share, text: None,
) -> Verification:
    """Compare the first batches of the exported script with the preview (``Verifier``)."""
    return Verifier(graph, data, batches, device).run(on_progress)


@task
def run_batch(worker: Worker, graph: Graph, data: Datasets, batch: int) -> None:
    """Task: run one complete batch. Raises PipelineError."""
    taps = list(graph.outputs.values())
    worker.runner.run(graph, data, batch, graph.settings.batch_size, taps)


@task
def compare_batch(
    worker: Worker, graph: Graph, data: Datasets, batch: int, path: str, target: VerifiedTarget
) -> tuple[int, int, list[Deviation]]:
    """Task: compare the preview's batch with that of the exported code, in the file ``path``.

    Returns the numbers of missing and identical samples, and the deviations. Samples may be missing
    in a loader's last batch.
    """
    size = graph.settings.batch_size
    theirs = read_batch(path, len(graph.outputs))
    given = len(theirs[0])
    labels = class_numbers(ResolvedGraph(graph, load_catalog()).outputs)
    numbers = labels if target != "script" else ()
    result = worker.runner.run(graph, data, batch, size, list(graph.outputs.values()))
    ours = [result.batches[port].arrays() for port in graph.outputs.values()]
    found: list[Deviation] = []
    if target == "script" and len(result.samples) != given:
        words = f"the preview has {len(result.samples)} samples, the script {given}"
        return size - given, 0, [Deviation(batch, 0, "", "batch", words)]
    for sample in range(given):
        facts = result.samples[sample]
        for name, mine, its in zip(graph.outputs, ours, theirs, strict=True):
            own = mine[sample].astype(np.int64).reshape(()) if name in numbers else mine[sample]
            one = deviation(own, its[sample])
            if facts.error:
                one = Deviation(0, 0, "", "", f"the preview skipped the file: {facts.error}")
            if one is not None:
                found.append(replace(one, batch=batch, sample=sample, file=facts.file, output=name))
    return size - given, given - len({one.sample for one in found}), found


def deviation(preview: NDArray[Any], script: NDArray[Any]) -> Deviation | None:
    """Return the difference between two arrays, compared bit for bit, or None if they are equal."""

    def differs(text: str, *amounts: Any) -> Deviation:
        return Deviation(0, 0, "", "", text, *amounts)

    if preview.shape != script.shape:
        return differs(f"the preview's shape is {preview.shape}, the script's {script.shape}")
    if preview.dtype != script.dtype:
        return differs(f"the preview outputs {preview.dtype}, the script {script.dtype}")
    a, b = np.ascontiguousarray(preview), np.ascontiguousarray(script)
    if a.tobytes() == b.tobytes():
        return None
    bits = (a.reshape(-1).view(f"V{a.itemsize}"), b.reshape(-1).view(f"V{b.itemsize}"))
    places = np.flatnonzero(bits[0] != bits[1])
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a.reshape(-1)[places].astype(float) - b.reshape(-1)[places].astype(float))
    largest = float(np.nanmax(apart)) if np.isfinite(apart).any() else float("nan")
    first = tuple(int(i) for i in np.unravel_index(int(places[0]), a.shape))
    text = f"{len(places)} of {a.size} values differ, by at most {largest:.6g}, first at {first}"
    return differs(text, len(places), a.size, largest)
