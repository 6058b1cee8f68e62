"""Render one shard of a version. Used in worker processes, because DALI can crash."""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.catalog import load_catalog
from workbench.emit.core.outputs import first_reader
from workbench.emit.core.python import identifier
from workbench.engine.build.in_process_loader import build_pipeline, program_error
from workbench.engine.file_checks.usable_data import UsableData
from workbench.engine.protocol.exit_status import is_file_fault
from workbench.errors import DataError, PipelineError
from workbench.graph.execution.dataset_parameters import parameter_of, with_datasets
from workbench.graph.model import Graph, Source
from workbench.graph.model.graph import changed_settings
from workbench.graph.resolved import ResolvedGraph, resolve
from workbench.graph.storage.io import graph_from_json
from workbench.sources import (
    ORDER_OPTIONS,
    Datasets,
    list_samples,
    load_source,
    open_dataset,
    write_remaining,
)
from workbench.versions.formats import load_format
from workbench.versions.formats.format import EncodedSample, encode
from workbench.versions.outputs import ENCODED, SampleReader, not_a_picture, unknown_pictures
from workbench.versions.plan import ORIGINAL, Task, VersionPlan, load_plan, shard_bounds
from workbench.versions.records import (
    WORK,
    SampleRecord,
    ShardRecord,
    file_hash,
    record_path,
    write_records,
)

PATH = ".path"
"""Ending of the file, in the working folder, with the relative path of a split's data."""
_STEM = re.compile(r"[^\w-]+")
_MOST_STEM = 80
_MEASURED_BATCHES = 4
SHUFFLE_BUFFER = 1024
"""Default of ``initial_fill`` of DALI's readers."""


class ShardRenderer:
    """Renders shards of the version in ``folder``, which is unfinished."""

    def __init__(self, folder: Path, threads: int) -> None:
        """``threads`` is the number of threads of DALI, and of the encoder."""
        self.folder = folder
        self.plan = load_plan((folder / WORK / "plan.json").read_bytes())
        self.threads = threads
        self._epoch_size = 0
        """Number of samples of the split, as the reader counts them."""

    def render(self, task: Task, report: Callable[[int], None] = lambda count: None) -> None:
        """Render a shard and write its records. ``report`` gets the number of samples of a batch.

        Bad samples are excluded. Raises DataError, PipelineError, and OSError for a full disk.
        """
        partial = self.folder / WORK / "partial"
        partial.mkdir(exist_ok=True)
        # A lost machine of a cluster may still write the same shard, so the name is unique.
        place = Path(tempfile.mkdtemp(prefix=f"{task.name}-", dir=partial))
        excluded: dict[str, str] = {}
        data = split_data(self.folder, self.plan, task)
        rest: tempfile.TemporaryDirectory[str] | None = None
        try:
            samples = self._write(task, data, task, place, report)
        except PipelineError as error:
            if not is_file_fault(str(error.__cause__)):
                raise
            rest = tempfile.TemporaryDirectory(prefix="workbench-shard-")
            data, excluded = self._without_bad(data, task, Path(rest.name))
            if not excluded:
                raise
            shutil.rmtree(place)
            place.mkdir()
            samples = self._write(task, data, task._replace(shard=0, shards=1), place, report)
        finally:
            if rest is not None:
                rest.cleanup()
        paths = sorted(path.relative_to(place) for path in place.rglob("*") if path.is_file())
        own = {str(path) for sample in samples for path in sample.paths.values()}
        own |= {str(path) for path in paths if path.parts[0] == WORK}
        whole = {str(path): file_hash(place / path) for path in paths if str(path) not in own}
        for path in paths:
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(place / path, self.folder / path)
        record = ShardRecord(len(samples), excluded, whole)
        write_records(record_path(self.folder, task), record, samples)
        shutil.rmtree(place)

    def measure(self, task: Task) -> dict[str, float]:
        """Return the mean stored ``bytes`` and the ``seconds`` per sample, of a few batches.

        The seconds exclude the first batch, and are 0 if there is no other.
        """
        data = split_data(self.folder, self.plan, task)
        ends: list[float] = []
        size, counts = 0, list[int]()

        def report(count: int) -> None:
            counts.append(count)
            ends.append(time.perf_counter())

        whole = task._replace(shard=0, shards=1)
        samples = self._samples(task, data, whole, {}, report)
        try:
            for each in samples:
                size += sum(map(len, each.parts.values()))
                if len(counts) == _MEASURED_BATCHES:
                    break
        except PipelineError as error:
            if not is_file_fault(str(error.__cause__)):
                raise  # otherwise a bad file, which ``render`` excludes
        later = sum(counts[1:])
        return {
            "bytes": size / max(1, sum(counts)),
            "seconds": (ends[-1] - ends[0]) / later if later else 0.0,
        }

    def types(self, task: Task) -> dict[str, str]:
        """Return "" for each image of unknown type that is a picture, else the type of a sample.

        The first batch of the shard is run, without bad samples.
        """
        data = split_data(self.folder, self.plan, task)
        try:
            return self._types(task, data, task)
        except PipelineError as error:
            if not is_file_fault(str(error.__cause__)):
                raise
        with tempfile.TemporaryDirectory(prefix="workbench-shard-") as rest:
            data, _ = self._without_bad(data, task, Path(rest))
            return self._types(task, data, task._replace(shard=0, shards=1))

    def _types(self, task: Task, data: Datasets, read: Task) -> dict[str, str]:
        resolved, pipe = self._pipeline(task, data, read)
        batch = dict(zip(resolved.graph.outputs, next(_run(pipe, 1)), strict=True))
        found = {}
        for name in unknown_pictures(resolved):
            texts = (not_a_picture(np.asarray(each)) for each in batch[name])
            found[name] = next(filter(None, texts), "")
        return found

    def _write(
        self, task: Task, data: Datasets, read: Task, place: Path, report: Callable[[int], None]
    ) -> list[SampleRecord]:
        """Write the samples of a shard. ``read`` is the shard of ``data`` that they are."""
        kept: dict[str, tuple[str, str]] = {}
        samples = self._samples(task, data, read, kept, report)
        made = load_format(self.plan.format).write(samples, place, task, self.plan)
        records = []
        for encoded, paths in made:
            source, digest = kept.pop(encoded.sample.key)
            records.append(
                SampleRecord(
                    encoded.sample.key, source, digest, encoded.sample.label, encoded.hashes, paths
                )
            )
        return records

    def _without_bad(
        self, data: Datasets, task: Task, folder: Path
    ) -> tuple[Datasets, dict[str, str]]:
        """Decode the files of a shard, and return its data without the bad ones, with reasons.

        Raises DataError if the samples of the shard are unknown, because the reader skips some.
        """
        given = data[self.plan.main]
        samples = list(list_samples(given))
        first, last = shard_bounds(task, len(samples))
        others = {each.name for each in (*samples[:first], *samples[last:])}
        own = write_remaining(given, others, folder / "own.txt") if others else None
        part = given if own is None else replace(given, location=os.fspath(own), items=())
        usable = UsableData({self.plan.main: part})
        if not usable.exclude_bad(full=True):
            return data, {}
        bad = {one.file: one.reason for one in usable.excluded}
        if len(samples) != self._epoch_size:
            name, reason = next(iter(bad.items()))
            raise DataError(
                f"{name} cannot be decoded ({reason.rstrip('.')}), and cannot be excluded, because "
                f"the reader reads {self._epoch_size:,} of {len(samples):,} samples. Remove it "
                "from the data (`workbench check --full` names all), and render into a new folder."
            )
        rest = write_remaining(given, others | set(bad), folder / "rest.txt")
        made = replace(given, location=os.fspath(rest), items=(), title=str(given))
        return {**data, self.plan.main: made}, bad

    def _require_all(self, data: Datasets, is_planned: bool, task: Task, count: int) -> None:
        """Raise DataError if a list of files loses samples. Other readers may skip some."""
        planned = self.plan.split(task.split).samples
        listed = load_source(data[self.plan.main].kind).lists_files
        if listed and is_planned and count != planned:
            raise DataError(
                f"{data[self.plan.main]}: DALI reads {count:,} of the {planned:,} samples of "
                f"{task.split!r}. Rename files with unusual names: `workbench check` names them."
            )
        self._epoch_size = count

    def _pipeline(self, task: Task, data: Datasets, read: Task) -> tuple[ResolvedGraph, Any]:
        """Return the graph of a shard and its DALI pipeline."""
        graph = shard_graph(self.plan, task, data, read, self.threads)
        resolved = resolve(graph, load_catalog())
        pipe = build_pipeline(graph, data)
        meta = pipe.reader_meta(identifier(first_reader(resolved.nodes).id))
        self._require_all(data, read is task, task, meta["epoch_size"])
        return resolved, pipe

    def _samples(
        self,
        task: Task,
        data: Datasets,
        read: Task,
        kept: dict[str, tuple[str, str]],
        report: Callable[[int], None],
    ) -> Iterator[EncodedSample]:
        """Yield the encoded samples of a shard. ``kept`` gets their names and data hashes."""
        resolved, pipe = self._pipeline(task, data, read)
        reader, graph = SampleReader(resolved, self.plan.found_pictures), resolved.graph
        first, last = shard_bounds(read, self._epoch_size)
        given = open_plan_data(self.plan, self.folder)[self.plan.main]
        # Names are relative to the data, also if a split is a folder of links to it.
        prefixes = [os.path.join(each.root, "") for each in (data[self.plan.main], given)]
        copy = "original" if task.copy == ORIGINAL else f"copy{task.copy}"
        names = list(graph.outputs)

        def encoded(at: int, outputs: list[Any], index: int) -> EncodedSample:
            values = {n: np.asarray(o[index]) for n, o in zip(names, outputs, strict=True)}
            name = str(outputs[names.index(ENCODED)][index].source_info())
            for prefix in prefixes:
                name = name.removeprefix(prefix)
            key = f"{_stem(name)}-{task.shard:03}-{at:05}-{copy}"
            kept[key] = name, hashlib.sha256(values[ENCODED].tobytes()).hexdigest()
            return encode(reader.sample(key, name, values), self.plan, reader.roles)

        size = graph.settings.batch_size
        with ThreadPoolExecutor(self.threads) as pool:
            for number, outputs in enumerate(_run(pipe, math.ceil((last - first) / size))):
                begin = number * size
                count = min(size, last - first - begin)
                yield from pool.map(
                    lambda index, at=begin, given=outputs: encoded(at + index, given, index),
                    range(count),
                )
                report(count)


def _run(pipe: Any, batches: int) -> Iterator[list[Any]]:
    """Yield the outputs of a number of batches on the CPU. Runs no further batch in advance."""
    depth = pipe.prefetch_queue_depth
    for number in range(batches):
        try:
            if number == 0 or number <= batches - depth:  # the first call runs ``depth`` batches
                pipe.schedule_run()
            outputs = pipe.outputs()
        except RuntimeError as error:
            raise program_error(error) or PipelineError(str(error)) from error
        yield [output.as_cpu() for output in outputs]


def shard_graph(plan: VersionPlan, task: Task, data: Datasets, read: Task, threads: int) -> Graph:
    """Return the graph that renders a shard: with its seed, and readers that read only the shard.

    The samples are read in the order of the data. Further sources that read in the same order read
    the same shard. Others read another one and shuffle it, so that pairs are random, as in the
    graph, and all data are used.
    """
    graph = with_datasets(graph_from_json(plan.graph_of(task)), data)
    settings: dict[str, Any] = {"seed": plan.seed_of(task), "pipelines": 1, "num_threads": threads}
    settings["executor"] = "dynamic"  # with one queue, whose depth ``_run`` counts
    main = first_reader(resolve(graph, load_catalog()).nodes)
    assert isinstance(main, Source)
    nodes = []
    for node in graph.nodes:
        if isinstance(node, Source):
            if reads_in_step(node, main):
                kept = {name: v for name, v in node.args.items() if name not in ORDER_OPTIONS}
                args: dict[str, Any] = {"num_shards": read.shards, "shard_id": read.shard}
                node = replace(node, args={**kept, **args, "pad_last_batch": True})
            else:
                shards = _shards_of(node, plan, data, read)
                chosen = (task.shard + 1 + plan.seed_of(task)) % shards
                shuffled = {} if _shuffles(node) else {"random_shuffle": True}
                args = {"num_shards": shards, "shard_id": chosen, **shuffled}
                node = replace(node, args={**node.args, **args})
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), settings=changed_settings(graph.settings, settings))


def reads_in_step(source: Source, main: Source) -> bool:
    """Return whether a source reads in the order of another: both unshuffled, or with one seed."""
    if _shuffles(source) and _shuffles(main):
        return source.seed == main.seed
    return _shuffles(source) == _shuffles(main)


def _shuffles(source: Source) -> bool:
    return bool(source.args.get("random_shuffle") or source.args.get("shuffle_after_epoch"))


def _shards_of(source: Source, plan: VersionPlan, data: Datasets, read: Task) -> int:
    """Return the number of shards of a source that shuffles independently.

    A shard has at least as many samples as the buffer from which DALI's readers shuffle.
    """
    name = parameter_of(source)
    if name == plan.main:
        return read.shards
    count = sum(1 for _ in list_samples(data[name])) if name is not None and name in data else 0
    return max(1, min(read.shards, count // SHUFFLE_BUFFER))


def list_file(name: str) -> str:
    """Return the name of the file, in a version, that lists the files of a data parameter."""
    return f"{name}.files.txt"


def open_plan_data(plan: VersionPlan, folder: Path) -> Datasets:
    """Return the datasets of a plan, whose lists of files are in ``folder``."""
    return {
        name: open_dataset(f"file_list:{folder / text}" if text == list_file(name) else text)
        for name, text in plan.data.items()
    }


def split_data(folder: Path, plan: VersionPlan, task: Task) -> Datasets:
    """Return the datasets of a shard: for the main parameter, the samples of its split."""
    found = dict(open_plan_data(plan, folder))
    given = found[plan.main]
    place = folder / WORK / "data"
    written = place / f"{task.split}{PATH}"
    if written.is_file():
        path = os.path.normpath(place / written.read_text())
        found[plan.main] = replace(given, location=path, items=(), title=str(given))
    elif len(plan.splits) > 1 or plan.excluded:
        raise DataError(f"The samples of {task.split!r} are missing in {place}. Render again.")
    return found


def _stem(name: str) -> str:
    """Return the part of a sample's key that is made of its name."""
    stem = os.path.splitext(os.path.basename(name.replace("\\", "/")))[0]
    return _STEM.sub("_", stem)[:_MOST_STEM] or "sample"
