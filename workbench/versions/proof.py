"""Prove a version: compare its files with the manifest, and render shards again."""

from __future__ import annotations

import hashlib
import math
import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version as installed_version
from pathlib import Path

import msgspec

from workbench.arguments import checked
from workbench.catalog import load_catalog
from workbench.engine.protocol.progress import Progress, one_line_interrupt, with_progress_bar
from workbench.errors import ArgumentError, CancelledError, DataError, EngineError
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph
from workbench.graph.resolved import resolve
from workbench.graph.storage.io import graph_from_json
from workbench.graph.user_functions.trust import trust_graph
from workbench.graph.variants.difference import graph_differences
from workbench.sources import Data, Datasets, Sample, open_datasets
from workbench.sources.opening import VERSION_FILE
from workbench.versions.formats import load_format
from workbench.versions.manifest import Version, open_version
from workbench.versions.outputs import graph_to_render
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.planning import data_hash, data_text, samples_of, write_inputs
from workbench.versions.processes import render_shards, require_workers
from workbench.versions.records import MANIFEST, WORK, file_hash, read_records, record_path
from workbench.versions.shard import list_file, open_plan_data

_MOST_LINES = 20
"""Maximum number of lines on differences in a report; all are in ``differences``."""
_MOST_NAMES = 5
"""Number of names of one kind of difference above which a report summarizes the kind."""


@dataclass(frozen=True, slots=True, repr=False)
class Proof:
    """Result of ``prove``: what was compared, and every difference.

    ``proven`` is True if nothing differs, nothing is missing and every chosen shard was rendered
    again. ``changes`` names what differs from the machine that rendered the version, such as the
    version of DALI; they do not prevent a proof.

    ::

        print(wb.prove("versions/v1").differences)
    """

    path: Path
    samples: int
    rendered: int
    shards: int
    differences: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    failure: str = ""

    @property
    def proven(self) -> bool:
        """True if every chosen sample was rendered again with equal bytes, and no file differs."""
        return not self.differences and not self.failure and self.rendered > 0

    def lines(self) -> list[str]:
        """Return the report as lines, with a summary of frequent differences, and the result."""
        found = [*self.changes, *_summarized(self.differences)]
        if self.failure:
            found.append(f"not rendered again: {self.failure}")
        if self.proven:
            share = f"{self.rendered:,} of {self.samples:,} samples rendered again bit for bit"
            share += f" ({self.shards:,} whole shard{'s' * (self.shards != 1)})"
            rest = "their files equal the manifest, and no file is missing or additional"
            return [*found, f"proven: {share}; {rest}"]
        count = len(self.differences)
        reason = f": {count:,} difference{'s' * (count > 1)}" if count else ""
        return [*found, f"not proven{reason}"]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@with_progress_bar()
@one_line_interrupt()
@checked()
def prove(
    version: str | Path | Version,
    *,
    share: float = 0.01,
    graph: Graph | None = None,
    data: Data | None = None,
    seed: int | None = None,
    workers: int | None = None,
    trust: bool = False,
    on_progress: Progress = lambda share, text: None,
) -> Proof:
    """Compare a version's files with its manifest, and render a share of its shards again.

    At least one shard is chosen, by ``seed``; their files are read and their samples are rendered
    again. Each changed, missing or additional file is named, with its sample. ``data`` is where the
    data is now, by default where it was. ``graph`` is a graph that must equal that of the version.
    Differences from its data and libraries are in ``changes``. ``trust`` allows the functions in
    the version's graph to run: read them first. Raises GraphFaultsError for untrusted functions,
    ArgumentError if ``share`` is not above 0 and at most 1, and DataError if the folder is not a
    version.

    ::

        assert wb.prove("versions/v1", share=0.1).proven
    """
    if not 0 < share <= 1:
        raise ArgumentError(f"share is {share}. Use a number above 0, and at most 1.")
    require_workers(workers)
    found = version if isinstance(version, Version) else open_version(version)
    plan = found.plan
    given = {} if data is None else open_datasets(data)
    if unknown := sorted(given.keys() - plan.data):
        names = ", ".join(map(repr, plan.data))
        raise ArgumentError(f"The version has no data {unknown[0]!r}. Use {names} as name.")
    for each in map(graph_from_json, plan.graphs.values()):
        resolve(trust_graph(each) if trust else each, load_catalog())  # code must be trusted
    tasks = list(plan.tasks())
    chosen = random.Random(seed).sample(tasks, max(1, math.ceil(share * len(tasks))))
    on_progress(0.0, "comparing the files with the manifest")
    differences = [*_unexpected_files(found), *_changed_records(found, chosen)]
    if found.manifest.computed_digest() != found.manifest.digest:
        differences.append(f"{VERSION_FILE}: it was changed after the version was written")
    for task in chosen:
        differences += _changed_parts(found, task)
    differences += _changed_whole_files(found, differences)
    changes = [
        f"{name} is {installed_version(name)} here, and was {used}"
        for name, used in plan.libraries.items()
        if installed_version(name) != used
    ]
    if graph is not None:
        differences += _graph_changes(found, graph)
    place = Path(tempfile.mkdtemp(prefix="workbench-prove-"))
    rendered, failure = 0, ""
    try:
        (place / WORK).mkdir()
        datasets = {**open_plan_data(plan, found.path), **given}
        texts = {name: data_text(name, each) for name, each in datasets.items()}
        here = msgspec.structs.replace(plan, data={**plan.data, **texts})
        samples = samples_of(datasets[plan.main], plan.excluded)
        changes += _data_changes(plan, datasets, samples)
        if len(samples) != (count := sum(each.samples for each in plan.splits)):
            raise DataError(
                f"{datasets[plan.main]} has {len(samples):,} samples, but the version was rendered "
                f"from {count:,}. Use the same data."
            )
        write_inputs(place, here, samples, datasets)
        render_shards(place, here, chosen, workers, on_progress)
        for task in chosen:
            again, own = _rendered_differences(found, place, task)
            rendered += again
            differences += own
    except CancelledError:
        raise
    except (DataError, EngineError) as error:
        failure = str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    total, unique = sum(found.samples.values()), tuple(dict.fromkeys(differences))
    on_progress(1.0, "done")
    return Proof(found.path, total, rendered, len(chosen), unique, tuple(changes), failure)


def _summarized(differences: Sequence[str]) -> list[str]:
    """Return lines on differences: one per kind with many names, and one for each other one."""
    kinds: dict[str, list[str]] = {}
    for each in differences:
        kinds.setdefault(each.partition(": ")[2].partition(" (")[0], []).append(each)
    lines: list[tuple[str, int]] = []
    for kind, own in sorted(kinds.items(), key=lambda one: len(one[1]) <= _MOST_NAMES):
        if len(own) > _MOST_NAMES:
            names = ", ".join(each.partition(": ")[0] for each in own[:_MOST_NAMES])
            more = f" and {len(own) - _MOST_NAMES:,} more"
            lines.append((f"{kind}, {len(own):,} times: {names}{more}", len(own)))
        else:
            lines += [(each, 1) for each in own]
    left = sum(count for _, count in lines[_MOST_LINES:])
    rest = [f"and {left:,} more differences"] if left else []
    if len(lines) < len(differences) or left:
        rest.append(
            "`workbench render --prove DIR --json` and `differences` in Python have all names."
        )
    return [*(text for text, _ in lines[:_MOST_LINES]), *rest]


def _unexpected_files(version: Version) -> Iterator[str]:
    """Yield texts on files that are missing, or that are not in the manifest."""
    known = {VERSION_FILE, *version.manifest.files}
    known |= {f"{MANIFEST}/{name}.jsonl" for name in version.manifest.records}
    known |= {
        list_file(name) for name, text in version.plan.data.items() if text == list_file(name)
    }
    for record in version.records():
        known.update(record.paths.values())
    there: set[str] = set()
    for folder, _, names in os.walk(version.path):
        base = os.path.relpath(folder, version.path)
        there.update(os.path.normpath(os.path.join(base, name)) for name in names)
    yield from (f"{path}: the file is missing" for path in sorted(known - there))
    yield from (f"{path}: the file is not in the manifest" for path in sorted(there - known))


def _changed_records(version: Version, tasks: Sequence[Task]) -> Iterator[str]:
    for task in tasks:
        path = record_path(version.path, task)
        if path.is_file() and file_hash(path) != version.manifest.records.get(task.name):
            yield f"{MANIFEST}/{path.name}: the manifest was changed"


def _changed_parts(version: Version, task: Task) -> Iterator[str]:
    """Yield texts on the parts of a shard's samples that differ from their hashes."""
    shard, records = read_records(record_path(version.path, task))
    samples = list(records)
    if not samples:
        return
    damaged = [
        path
        for path, digest in shard.files.items()
        if (version.path / path).is_file() and file_hash(version.path / path) != digest
    ]
    if shard.files and not damaged:
        return
    named = 0
    by_key = {each.key: each for each in samples}
    seen: dict[str, set[str]] = {}
    try:
        read = load_format(version.plan.format).read(version.path, task, samples, version.plan)
        for key, ending, content in read:
            seen.setdefault(key, set()).add(ending)
            if content is None or key not in by_key:
                if content is not None:
                    named += 1
                    yield f"{key}: the sample is not in the manifest ({task.name})"
                continue  # ``_unexpected_files`` reports a missing file
            if by_key[key].parts.get(ending) != hashlib.sha256(content).hexdigest():
                named += 1
                where = by_key[key].paths.get(ending) or f"{key}.{ending}"
                yield f"{where}: differs from the manifest (sample {by_key[key].source})"
        for key, record in by_key.items():
            missing = [each for each in record.parts if each not in seen.get(key, ())]
            if missing:
                named += 1
                lost = f"{', '.join(missing)} of " if key in seen else ""
                yield f"{key}: {lost}the sample is missing (sample {record.source})"
    except DataError as error:
        named += 1
        yield str(error)
    if damaged and not named:
        yield from (f"{path}: differs from the manifest, outside its samples" for path in damaged)


def _changed_whole_files(version: Version, named: Sequence[str]) -> Iterator[str]:
    """Yield texts on changed files of the whole version, if no sample explains the change."""
    tasks = version.plan.tasks()
    shards = (record_path(version.path, task) for task in tasks)
    own = {path for each in shards if each.is_file() for path in read_records(each)[0].files}
    for path, digest in version.manifest.files.items():
        place = version.path / path
        if path not in own and place.is_file() and file_hash(place) != digest and not named:
            yield f"{path}: differs from the manifest"


def _graph_changes(version: Version, graph: Graph) -> Iterator[str]:
    """Yield the differences of a graph from the one that rendered the version."""
    plan = version.plan
    stored = graph_from_json(plan.graphs["train"])
    opened = with_datasets(graph.whole, open_plan_data(plan, version.path))
    made, _ = graph_to_render(opened, arrays=plan.arrays)
    if found := graph_differences(stored, made):
        lines = repr(found).splitlines()
        more = f"; and {len(lines) - _MOST_NAMES:,} more changes" * (len(lines) > _MOST_NAMES)
        yield f"the graph differs: {'; '.join(lines[:_MOST_NAMES])}{more}"


def _data_changes(
    plan: VersionPlan, datasets: Datasets, samples: Sequence[Sample]
) -> Iterator[str]:
    for name, dataset in datasets.items():
        read = samples if name == plan.main else None
        if data_hash(dataset, read) != plan.data_hashes[name]:
            yield f"the data differ: {dataset} has other files, labels or annotations than before"


def _rendered_differences(version: Version, place: Path, task: Task) -> tuple[int, list[str]]:
    """Return the number of samples rendered again, and texts on those that differ."""
    _, stored = read_records(record_path(version.path, task))
    _, again = read_records(record_path(place, task))
    before, after = {each.key: each for each in stored}, {each.key: each for each in again}
    found = [f"{key}: rendered again, but not in the manifest" for key in after.keys() - before]
    found += [f"{key}: in the manifest, but not rendered again" for key in before.keys() - after]
    for key in before.keys() & after:
        old, new = before[key], after[key]
        if old.data != new.data:
            found.append(f"{old.source}: the file in the data changed")
        elif old.label != new.label:
            change = f"{old.label} in the manifest, {new.label} now"
            found.append(f"{key}: the label differs when rendered again ({change})")
        elif old.parts != new.parts:
            parts = [name for name in new.parts if old.parts.get(name) != new.parts[name]]
            found.append(f"{key}: {', '.join(parts) or 'a part'} differs when rendered again")
    return len(after), sorted(found)
