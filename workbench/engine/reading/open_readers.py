"""Cache open readers between runs. Used in the worker process only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import OpSpec
from workbench.emit.preview.preview_stage import emit_stage
from workbench.engine.build.plan import Plan
from workbench.engine.reading.dataset_watcher import DatasetWatcher
from workbench.engine.reading.reader_cursor import ReaderCursor
from workbench.engine.reading.undecodable_samples import Sample, check_samples, replace_samples
from workbench.engine.resources.root_guard import (
    CHANGED,
    outside_roots,
    require_inside,
    require_shown,
)
from workbench.graph.model import Node, Source
from workbench.graph.model.ports import output_ports, outputs_of
from workbench.sources import Dataset, Datasets

_KEPT_READERS = 2
_KEPT_WATCHERS = 8


class ReadSamples(NamedTuple):
    """Samples for each output of a source, and the file of each sample."""

    outputs: list[list[Any]]
    samples: tuple[Sample, ...]


class OpenReaders:
    """Cache of open readers. Each continues from its last batch. Not thread-safe."""

    def __init__(self) -> None:
        self._cursors: OrderedDict[tuple[Dataset | None, str], ReaderCursor] = OrderedDict()
        self._watchers: OrderedDict[Dataset, DatasetWatcher] = OrderedDict()

    def versions(self, data: Datasets) -> dict[str, str]:
        """Return a version for each dataset. The version changes when the data changes."""
        return {name: self._watcher(dataset).version for name, dataset in data.items()}

    def close_changed(self, data: Datasets, files_of: Callable[[str], Sequence[str]]) -> bool:
        """Close the readers of changed data. Return True if any of the data changed.

        ``files_of`` returns the names of the files that were read from a dataset.
        """
        watchers = {name: self._watcher(dataset) for name, dataset in data.items()}
        changed = [
            name for name, watcher in watchers.items() if watcher.has_changed(files_of(name))
        ]
        of_these = [data[name] for name in changed]
        for key in [key for key in self._cursors if key[0] in of_these]:
            self._cursors.pop(key).close()
        while len(self._watchers) > max(_KEPT_WATCHERS, len(data)):
            self._watchers.popitem(last=False)
        return bool(changed)

    def read(self, plan: Plan, source: Source, pipelines: int) -> ReadSamples:
        """Return the samples of a plan's batch. Bad samples are replaced and marked with an error.

        If there are several ``pipelines``, the reader of each pipeline stays open.
        """
        dataset = plan.dataset(source)
        watcher = self._watcher(dataset) if dataset else None
        encoded = encoded_outputs(source, plan.resolved.spec(source))
        for attempt in (1, 2):
            cursor = self._cursor(plan, source, pipelines)
            read = cursor.batch(plan.batch)
            count = min(plan.count, len(read.files))  # a Python source may return fewer
            chosen = [plan.repeat] if plan.repeat is not None else range(count)
            files = [read.files[i] for i in chosen]
            if not encoded:
                if source.op == PYTHON_SOURCE.name:
                    break
                require_shown(source.id, files, cursor.folder, cursor.container_of)
                break
            arrays = read.arrays[encoded[0]]
            sizes = {
                file: array.nbytes
                for file, array in zip(read.files, arrays, strict=True)
                if file not in cursor.unreadable
            }
            given = [None if read.files[i] in cursor.unreadable else arrays[i] for i in chosen]
            bad = dict(cursor.unreadable)
            if source.op != PYTHON_SOURCE.name and (dataset is None or not dataset.in_memory):
                bad |= outside_roots(files, cursor.folder, given, cursor.container_of)
            changed = CHANGED in bad.values()
            if watcher is not None:
                changed |= watcher.remember(sizes)
            if not changed or attempt == 2:
                break
            # A file changed after the reader had prefetched it: a new reader reads its current
            # content.
            self._cursors.popitem()[1].close()
        outputs = [[output[i] for i in chosen] for output in read.outputs]
        samples = tuple(map(Sample, files))
        for index in encoded:
            port = output_ports(source, plan.resolved.spec(source))[index]
            node, decoder = plan.decoder_of(port), plan.feeds_alone(port)
            args = {**node.args, **dict.fromkeys(node.inputs)} if node is not None else {}
            found = check_samples(files, map(np.asarray, outputs[index]), bad, decoder, args)
            outputs[index] = replace_samples(outputs[index], found, decoder)
            if index == encoded[0] or node is not None:
                pairs = zip(samples, found, strict=True)
                samples = tuple(one if one.error else other for one, other in pairs)
        if read.first is not None:
            samples = tuple(
                replace(sample, number=number) for number, sample in enumerate(samples, read.first)
            )
        times = count // len(chosen)
        return ReadSamples([output * times for output in outputs], samples * times)

    def _cursor(self, plan: Plan, source: Source, pipelines: int) -> ReaderCursor:
        settings, dataset = plan.graph.settings, plan.dataset(source)
        ports = output_ports(source, plan.resolved.spec(source))
        made = emit_stage(plan.resolved, [source.id], ports, {})
        side = settings.device if source.decodes else ""
        key = (dataset, f"{settings.seed}\n{settings.batch_size}\n{side}\n{made.code.text}")
        if key not in self._cursors:
            require_inside(source, dataset)
            self._cursors[key] = ReaderCursor(made.code, source, dataset, settings)
            used = pipelines * len(plan.graph.sources)
            while len(self._cursors) > max(_KEPT_READERS, used):
                self._cursors.popitem(last=False)[1].close()
        self._cursors.move_to_end(key)
        return self._cursors[key]

    def _watcher(self, dataset: Dataset) -> DatasetWatcher:
        watcher = self._watchers.setdefault(dataset, DatasetWatcher(dataset))
        self._watchers.move_to_end(dataset)
        return watcher

    def skipped_text(self, data: Datasets) -> str:
        """Return a text on the samples that the readers of these datasets skip, or "" if none."""
        cursors = (each for (read, _), each in self._cursors.items() if read in data.values())
        return "; ".join(dict.fromkeys(each.skipped_text for each in cursors if each.skipped_text))

    def epoch_size(self, dataset: Dataset | None) -> int:
        """Return the samples per epoch of a dataset with an open reader, or 0 if unknown."""
        return max(
            (each.epoch_size for (d, _), each in self._cursors.items() if d == dataset), default=0
        )

    @property
    def nbytes(self) -> int:
        """Size of all cached batches in bytes."""
        return sum(cursor.nbytes for cursor in self._cursors.values())

    def close(self) -> None:
        for cursor in self._cursors.values():
            cursor.close()
        self._cursors.clear()


def encoded_outputs(source: Node, spec: OpSpec) -> list[int]:
    """Return the indices of the source's outputs with encoded images."""
    outputs = enumerate(outputs_of(source, spec))
    return [index for index, output in outputs if output.kind == "encoded"]
