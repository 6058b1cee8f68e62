"""Produce the reader's batches exactly as in the exported script, even with bad files.

Used in the worker process only.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.emit.core.code import Code
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.reading.encoded_images import (
    header_findings,
    mask_fault,
    open_image,
    placeholder_jpeg,
    undecodable_mask,
)
from workbench.engine.reading.findings import KINDS, Finding
from workbench.engine.reading.python_source import SourceChecks
from workbench.engine.resources.batch_store import Batch, tensor_list
from workbench.engine.resources.machine import describe_machine
from workbench.errors import DataError, PipelineError
from workbench.graph.execution.dataset_parameters import (
    is_sampled,
    parameter_of,
    require_numbering,
    source_kind,
)
from workbench.graph.model import Settings, Source
from workbench.sources import (
    Dataset,
    Sample,
    failure_reason,
    list_samples,
    load_source,
    require_dataset,
    unreadable_reason,
    write_remaining,
)

_KEPT_BATCHES = 8
_KEPT_BYTES = 256 * 2**20
"""Maximum size in bytes of the cache of recent batches. The newest batch is always cached."""
MOST_READ = 1 / 8
"""Maximum size of a batch, as a fraction of the machine's memory. DALI stores a batch twice, and
the cache stores another copy.
"""
_LOOKED_AT = 256
"""Number of files from which the size of all files is estimated."""
_READ_AHEAD = 1024
"""Default of ``initial_fill``: number of samples that DALI's readers buffer for shuffling."""
_MOST_SAMPLED = 10_000
"""Number of samples that are checked first if the source has a sampler."""
_REORDERING = ("random_shuffle", "shuffle_after_epoch", "pad_last_batch", "num_shards")
"""Reader arguments that can make epochs differ, or leave a gap between two epochs."""


def require_room(data: Dataset, batch_size: int) -> None:
    """Raise DataError if one batch of a dataset's files needs too much memory.

    The reader loads a whole batch, even if few of its samples are shown. The limit, ``MOST_READ``
    of the machine's memory, is enough for 20,000 typical photos on a machine with 16 GiB.
    """
    sizes = []
    for each in islice(list_samples(data), _LOOKED_AT):
        with suppress(OSError):  # missing, or not yet read
            sizes += [each.size] if not unreadable_reason(each.path) else []
    room = describe_machine().memory_gib * 2**30 * MOST_READ
    need = batch_size * sum(sizes) / max(1, len(sizes))
    if need > room:
        raise DataError(
            f"The encoded files of a batch of {batch_size:,} of {data} have about "
            f"{need / 2**30:.1f} GiB, more than an eighth of this machine's memory. Use a smaller "
            f"batch size: `workbench check GRAPH --data {data} --memory` names one that fits with "
            "the decoded images."
        )


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """One batch of a reader.

    ``outputs`` has a DALI TensorList for each output of the reader. ``files`` has each sample's
    path relative to the data folder. The outputs are tensors, not arrays, because only tensors have
    the name of their file (``get_property``).
    """

    outputs: tuple[Any, ...]
    files: tuple[str, ...]
    nbytes: int
    """Size of all outputs in bytes."""
    first: int | None = None
    """Number of earlier samples in the whole run, if a Python source returned the batch."""

    @property
    def arrays(self) -> tuple[list[NDArray[Any]], ...]:
        """The samples of each output as arrays on the host. Data is not copied."""
        return tuple([np.asarray(output[i]) for i in range(len(output))] for output in self.outputs)


@dataclass(slots=True)
class _Position:
    pipeline: Any
    repeats: int = 0
    """Number of batches after which the reader's batches repeat, or 0 if unknown."""
    next_batch: int = 0
    samples: int = 0
    """Number of samples of the batches that were read."""
    recent: OrderedDict[int, ReadBatch] = field(default_factory=OrderedDict)


class ReaderCursor:
    """Runs one reader forward to any batch. To go back, the reader is restarted.

    The reader has the same code and order as in the script. If it fails on files that the operating
    system cannot read (such as empty ones, which end the script), it is restarted with a list of
    file names, in which placeholders replace these files. Other files keep their positions.
    ``unreadable`` maps each replaced file to the reason. A file whose name is not UTF-8, which DALI
    reads but cannot report, is replaced by a link.
    """

    def __init__(
        self,
        code: Code,
        source: Source,
        data: Dataset | None,
        settings: Settings,
    ) -> None:
        """``code`` is the generated code of ``source``; ``data`` is None if the source has a path.

        If the source outputs pixels, it decodes on the device in the settings.
        """
        self._device = (source.device or settings.device) if source.decodes else "cpu"
        self._decoded_on = self._device if source.decodes else settings.device
        if data is not None:
            require_dataset(data, self._decoded_on)
        self._compiled = CompiledSource(code)
        self._source = source
        self._runs_code = source.op == PYTHON_SOURCE.name
        if self._runs_code:
            SourceChecks(source, settings.batch_size, self._compiled.namespace)
        self._data = data
        self._seed = settings.seed
        self._batch_size = settings.batch_size
        self._position: _Position | None = None
        self._index: tempfile.TemporaryDirectory[str] | None = None
        self._stand_ins: tempfile.TemporaryDirectory[str] | None = None
        self._originals: dict[str, str] = {}
        """Name of the original file, by the name of its placeholder."""
        named_in_full = data is not None and not load_source(data.kind).lists_files
        self._prefix = os.path.join(data.root, "") if data is not None and named_in_full else ""
        looks_ahead = data is not None and load_source(data.kind).looks_ahead
        self._ahead = list_samples(data) if looks_ahead and data is not None else None
        self._looked_at = 0
        self._at_fault: dict[str, str] = {}
        """Faults of the samples that the reader would read without an error, by sample name."""
        self._sized: dict[str, Sample] = {}
        """Samples with a mask or an annotated size, to be compared once they are read, by name."""
        self._compared = 0
        """Number of images whose size was compared with the size in their annotations."""
        self._other_size: dict[str, str] = {}
        """Images that differ in size from their annotations, with a text that has both sizes."""
        self._odd_boxes: dict[str, str] = {}
        """A box that extends beyond the image or has no area, by image name."""
        self.unreadable: dict[str, str] = {}
        self.folder = self._folder()
        """Folder to which the file names of a batch are relative."""
        self._rest: tempfile.TemporaryDirectory[str] | None = None
        self._left_out = ""
        """Text with the number of unreadable samples and the name of the first."""
        kind = None if data is None else load_source(data.kind)
        self._remark = kind.decoding_remark(data, self._decoded_on) if kind and data else ""
        if kind is not None and kind.checked_first:
            self._read_rest()

    def batch(self, index: int) -> ReadBatch:
        """Return batch ``index`` (from 0). Raises PipelineError or DataError."""
        self._check_upcoming(index)
        while True:  # each fix is tried once
            try:
                return self._advance(index)
            except PipelineError as error:
                if self._data is None:
                    raise
                require_dataset(self._data, self._decoded_on)
                if self._read_rest():
                    continue
                if reason := failure_reason(self._data, str(error)):
                    raise DataError(reason) from None
                if self._stand_ins is not None or not self._name_files():
                    raise
            except UnicodeDecodeError as error:
                if self._stand_ins is not None or not self._name_files():
                    raise DataError(
                        f"A file name is not UTF-8 ({error}). Rename the file."
                    ) from None

    def _check_upcoming(self, index: int) -> None:
        """Check the samples that will be read next, if this is fast."""
        if self._ahead is None or self._data is None or self._rest is not None:
            return
        kind = load_source(self._data.kind)
        most = self._samples_before(index + 2) - self._looked_at
        for sample in islice(self._ahead, max(0, most)):
            self._looked_at += sample.counted
            if sample.mask or sample.sides or kind.targets == "boxes":
                self._sized[sample.name] = sample
            if sample.fault:
                self._at_fault[sample.name] = sample.fault
            ends = bool(kind.ends_process) and kind.ends_process in sample.fault
            if ends or (kind.decodes_images and _header_fault(sample)):
                self._read_rest()
                return
        if self._at_fault:
            name, fault = next(iter(self._at_fault.items()))
            self._left_out = (
                f"{len(self._at_fault):,} of its first {self._looked_at:,} samples are faulty; "
                f"the first, {name}: {fault}. Verify and the measurements exclude them"
            )

    def _samples_before(self, batches: int) -> int:
        """Return the number of samples read for ``batches`` batches, including all frames.

        With a sampler, any sample may be read next.
        """
        if is_sampled(self._source):
            return _MOST_SAMPLED
        args = self._source.args
        drawn_from, length, stride = (
            value if isinstance(value := args.get(name), int) else default
            for name, default in [
                ("initial_fill", _READ_AHEAD),
                ("sequence_length", 1),
                ("stride", 1),
            ]
        )
        return (drawn_from + batches * self._batch_size) * length * stride

    def _read_rest(self) -> bool:
        """Exclude all faulty and unreadable samples. Return True if there were any.

        Each such sample would end the run. Raises DataError if no sample remains, or if this kind
        of data does not support exclusion.
        """
        data = self._data
        if data is None or self._rest is not None:
            return False
        kind = load_source(data.kind)
        in_mask = mask_fault if kind.targets == "masks" else lambda each: ""
        in_files = kind.in_files and not kind.lists_files
        samples = list(list_samples(data))
        lacking = {
            each.name: fault
            for each in samples
            if (
                fault := each.fault
                or (in_files and unreadable_reason(each.path))
                or in_mask(each)
                or (kind.decodes_images and _header_fault(each))
            )
        }
        if not lacking:  # masks are decoded only if all headers are valid
            lacking = {each.name: fault for each in samples if (fault := undecodable_mask(each))}
        if not lacking:
            return False
        name, fault = next(iter(lacking.items()))
        message = f"{len(lacking):,} of its samples cannot be read; the first, {name}: {fault}"
        if len(lacking) == len(samples):
            raise DataError(f"{data}: {message}.")
        require_numbering([self._source], [str(parameter_of(self._source))])
        self._rest = tempfile.TemporaryDirectory(prefix="workbench-rest-")
        rest = write_remaining(data, lacking, Path(self._rest.name, "rest"))
        self._data = replace(data, location=os.fspath(rest), items=(), title=str(data))
        self._left_out = (
            f"{message}. They are excluded: `workbench check {data.text or data}` names all"
        )
        if kind.lists_files:  # the remaining list has full paths
            self._prefix = os.path.join(data.root, "")
        self._position = None
        return True

    def _name_files(self) -> bool:
        """Pass the files to the reader by name. Return True if placeholders replace any of them."""
        if self._data is None or not load_source(self._data.kind).lists_files:
            return False
        folder = tempfile.TemporaryDirectory(prefix="workbench-data-")
        files: list[str] = []
        labels: list[int] = []
        for file in list_samples(self._data):
            reason = unreadable_reason(file.path)
            path = file.name
            if reason:
                path = os.path.join(folder.name, f"{len(files)}.jpg")
                Path(path).write_bytes(placeholder_jpeg().tobytes())
                self._originals[path] = self._name(file.name)
                self.unreadable[self._name(file.name)] = reason
            elif not _is_utf8(path):
                path = os.path.join(folder.name, f"{len(files)}{Path(path).suffix}")
                os.symlink(os.path.abspath(file.path), path)
                self._originals[path] = self._name(file.name)
            files.append(path)
            labels.append(file.label)
        self._stand_ins = folder
        self._position = None
        self._feed_found({"file_root": self._data.root, "files": files, "labels": labels})
        return bool(self._originals)

    def _feed_found(self, arguments: dict[str, Any]) -> None:
        """Pass ``arguments`` to the reader instead of searching for the data."""
        find = source_kind(self._source).find.__name__
        self._compiled.namespace[find] = lambda data: arguments

    def _use_index(self) -> None:
        """Pass a generated index to the reader. A provisional index has only the first samples."""
        kind = None if self._data is None else load_source(self._data.kind)
        if self._data is None or kind is None or not kind.is_indexed:
            return
        folder = tempfile.TemporaryDirectory(prefix="workbench-index-")
        if (found := kind.find_indexed(self._data, Path(folder.name))) is not None:
            self._index = folder
            self._feed_found(found)

    def _advance(self, index: int) -> ReadBatch:
        at = self._position
        if self._data is not None and 0 < self._data.first < (index + 1) * self._batch_size:
            self._data = replace(self._data, first=2 * (index + 1) * self._batch_size)
            at = None
        try:
            if at is None:
                at = self._position = self._begin()
            requested, index = index, index % at.repeats if at.repeats else index
            if index in at.recent:
                return at.recent[index]
            if index < at.next_batch:
                at = self._position = self._begin()
            began, first = time.monotonic(), at.next_batch
            while at.next_batch <= index:
                seconds = time.monotonic() - began
                way = "the reader must read all batches before it"
                require_near(requested, index, at.next_batch, first, seconds, way)
                outputs = self._run(at)
                if at.next_batch > index - _KEPT_BATCHES:
                    at.recent[at.next_batch] = self._copy(outputs, at)
                at.next_batch += 1
                at.samples += len(outputs[0])
                while len(at.recent) > _KEPT_BATCHES or (
                    len(at.recent) > 1 and self.nbytes > _KEPT_BYTES
                ):
                    at.recent.popitem(last=False)
        except (UnicodeDecodeError, DataError, PipelineError):
            raise
        except (RuntimeError, TypeError, ValueError) as error:  # for unsupported options
            self._position = None
            raise self._error(error) from None
        except Exception as error:
            if not self._runs_code:
                raise
            self._position = None
            raise self._error(error) from None
        return at.recent[index]

    def _error(self, error: Exception) -> PipelineError:
        if self._runs_code and (reason := self._compiled.own_failure(error)):
            return PipelineError(f"{self._source.id}: {reason}", self._source.id)
        return self._compiled.error(error)

    def _run(self, at: _Position) -> Any:
        """Return the next batch. At the end of an epoch, a Python source is started again."""
        try:
            return at.pipeline.run()
        except StopIteration:
            at.pipeline.reset()
        try:
            return at.pipeline.run()
        except StopIteration:
            self._position = None
            fix = "return an object that starts again after its end"
            if "cycle" not in self._source.args:
                fix = "set cycle to raise (epochs) or quiet"
            count = (
                f"after {at.next_batch} batch{'es' * (at.next_batch != 1)} and did not start again"
            )
            reach = f"Use a batch up to {at.next_batch - 1}, or {fix}"
            if not at.next_batch:
                count = f"before its first batch of {self._batch_size} was complete"
                reach = "Use a smaller batch size, or set cycle to quiet"
            raise DataError(f"{self._source.id}: its source ended {count}. {reach}.") from None

    def _begin(self) -> _Position:
        """Build the reader, and return its position before the first batch.

        If the files have a fixed order and epochs follow each other without a gap, the position
        includes the number of batches after which the batches repeat.
        """
        pipe, source = self._build(), self._source
        plain = source.op == "readers.file" and source_kind(source).reader is None
        if not plain or source.inputs or any(source.args.get(name) for name in _REORDERING):
            return _Position(pipe)
        (meta,) = pipe.reader_meta().values()
        size = int(meta["epoch_size"])
        return _Position(pipe, repeats=size // math.gcd(size, self._batch_size))

    def _build(self) -> Any:
        given: dict[str, Any] = {}
        if self._data is not None:
            require_room(self._data, self._batch_size)
            self._use_index()
            given = {str(parameter_of(self._source)): self._data.argument}
        pipe = self._compiled["stage"](
            **given,
            device=self._device,
            base_seed=self._seed,
            position=0,
            positions={},
            batch_size=self._batch_size,
            num_threads=1,
            device_id=None if self._device == "cpu" else 0,
            prefetch_queue_depth=1,
        )
        pipe.build()
        return pipe

    @property
    def epoch_size(self) -> int:
        """Number of samples per epoch, or 0 if it is unknown or if only a shard is read."""
        if self._position is None or (self._data is not None and self._data.first):
            return 0
        metas = [*self._position.pipeline.reader_meta().values()]
        alone = len(metas) == 1 and metas[0]["number_of_shards"] == 1
        padded = "_padded" if alone and metas[0]["pad_last_batch"] else ""
        return int(metas[0][f"epoch_size{padded}"]) if alone else 0

    def _copy(self, outputs: Any, position: _Position) -> ReadBatch:
        in_memory = self._data is not None and self._data.in_memory
        in_python = in_memory or is_sampled(self._source)  # then DALI reports no names
        meta = position.pipeline.reader_meta(self._source.id) if in_python else {}
        if self._runs_code:
            paths = [f"sample {position.samples + i}" for i in range(len(outputs[0]))]
        elif not in_python:
            paths = [outputs[0][i].source_info() for i in range(len(outputs[0]))]
        elif self._data is None or not in_memory:
            paths = meta["files"](position.next_batch)
        else:
            kind = load_source(self._data.kind)
            samples = kind.samples_at(self._data, meta["samples"](position.next_batch))
            self.unreadable.update((each.name, each.fault) for each in samples if each.fault)
            paths = [each.name for each in samples]
        names = tuple(self._originals.get(path, self._name(path)) for path in paths)
        for sample in filter(None, (self._sized.pop(name, None) for name in names)):
            self._compared += 1
            for finding in header_findings(sample):
                is_bad = KINDS[finding.kind] == "bad"
                misfits = self._odd_boxes if finding.kind == "box" else self._other_size
                (self.unreadable if is_bad else misfits)[sample.name] = finding.reason
        copies = tuple(tensor_list([output[i] for i in range(len(output))]) for output in outputs)
        return ReadBatch(
            copies,
            names,
            sum(Batch(output).nbytes for output in copies),
            position.samples if self._runs_code else None,
        )

    @property
    def skipped_text(self) -> str:
        """Text about any samples that are skipped, or are read wrongly without an error."""
        texts = [self._left_out, self._remark]
        for misfits, fault in (
            (self._other_size, "differ in size from their annotations"),
            (self._odd_boxes, "have a box beyond the edge or without area"),
        ):
            for name, words in islice(misfits.items(), 1):
                texts.append(
                    f"{len(misfits):,} of {self._compared:,} images read {fault}; the "
                    f"first, {name}: {words}"
                )
        return "; ".join(filter(None, texts))

    def _name(self, path: str) -> str:
        """Convert a path reported by the reader to the sample's name in the original dataset."""
        if self._rest is not None and self._data is not None:
            path = path.removeprefix(os.path.join(self._data.root, ""))
        return path.removeprefix(self._prefix)

    def _folder(self) -> str:
        found = self._data.root if self._data else self._source.args.get("file_root")
        return found if isinstance(found, str) else ""

    @property
    def container_of(self) -> Callable[[str], str] | None:
        """Function that returns the file containing a sample, or None if samples are files."""
        kind = None if self._data is None else load_source(self._data.kind)
        return None if kind is None or kind.in_files else kind.container_of

    @property
    def nbytes(self) -> int:
        """Size of the cached batches in bytes."""
        return sum(read.nbytes for read in self._position.recent.values()) if self._position else 0

    def close(self) -> None:
        """Release the pipeline and delete the placeholder files."""
        self._position = None
        for folder in filter(None, (self._stand_ins, self._index, self._rest)):
            folder.cleanup()


def _header_fault(sample: Sample) -> str:
    """Return why DALI cannot decode an image, according to its header, or "" if it can."""
    if reason := unreadable_reason(sample.path):
        return reason
    with sample.open() as file:
        found = open_image(file)
    return found.reason if isinstance(found, Finding) else ""


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


# Distant batches: estimate the time to reach them, and refuse if it is too long.

_JUDGED_AFTER = 2.0
"""Seconds after which the remaining time to a batch is estimated."""
_LONGEST = 40.0
"""Maximum time to reach a batch, in seconds. The worker must answer within a minute."""


def require_near(
    requested: int, needed: int, current: int, first: int, seconds: float, reason: str
) -> None:
    """Raise DataError if reaching batch ``needed`` takes too long; ``requested`` depends on it.

    ``seconds`` is the time taken from batch ``first`` to ``current``. ``reason`` explains why
    earlier batches cannot be skipped.
    """
    if current == first or seconds < _JUDGED_AFTER:
        return
    rate = (current - first) / seconds
    left = (needed - current) / rate
    if left > _LONGEST:
        reach = first + int(rate * _LONGEST)
        raise DataError(
            f"Reaching batch {requested:,} would take about {_duration(left)}: {reason}. Use a "
            f"batch up to about {reach:,}."
        )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
