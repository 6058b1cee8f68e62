"""Plan a version: check what is requested, and divide the samples."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version
from pathlib import Path

import msgspec

from workbench.arguments import require_library
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.emit.core.outputs import first_reader
from workbench.engine.file_checks.usable_data import UsableData
from workbench.engine.protocol.progress import Progress
from workbench.engine.resources.machine import describe_machine, usable_cores
from workbench.engine.resources.missing_gpu import require_gpu_if_used
from workbench.errors import ArgumentError, DataError
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    is_sampled,
    parameter_of,
    require_datasets,
    with_datasets,
)
from workbench.graph.model import Graph, Source
from workbench.graph.resolved import ResolvedGraph, resolve
from workbench.graph.storage.io import graph_from_json, graph_to_json
from workbench.graph.variants.validation import validation_graph
from workbench.sources import (
    Dataset,
    Datasets,
    Sample,
    class_names,
    dump_file_list,
    fits_list,
    list_samples,
    load_source,
    require_dataset,
    write_remaining,
)
from workbench.versions.formats import load_format
from workbench.versions.outputs import graph_to_render, original_graph, plan_roles, unknown_pictures
from workbench.versions.plan import (
    SPLITS,
    PlannedSplit,
    VersionPlan,
    divide,
)
from workbench.versions.processes import ask_worker
from workbench.versions.records import WORK, file_hash, write_complete
from workbench.versions.shard import PATH, list_file, open_plan_data, reads_in_step

SHARD_SIZE = 1000
"""Default number of samples per shard."""
_LARGEST_SHARDS = 500
"""Number of shards per copy above which shards become larger, because readers list all files."""
_MIXING = ("permute_batch", "batch_permutation")


def plan_version(
    graph: Graph,
    data: Datasets,
    *,
    copies: int = 1,
    format: str = "folder",
    split: Sequence[float] = (1.0,),
    originals: bool = False,
    quality: int | None = None,
    arrays: bool = False,
    shard_size: int | None = None,
    evaluation: Graph | None = None,
    on_progress: Progress = lambda share, text: None,
) -> tuple[VersionPlan, list[Sample], Datasets]:
    """Return the plan of a version, the samples of its main data, and all data. Writes nothing.

    Raises the errors of ``render`` that are known in advance.
    """
    if not 1 <= copies <= 10_000:
        raise ArgumentError(f"copies is {copies}. Use 1 to 10,000.")
    if quality is not None and not 1 <= quality <= 100:
        raise ArgumentError(f"quality is {quality}. Use 1 to 100, or omit it for PNG.")
    if shard_size is not None and shard_size < 1:
        raise ArgumentError(f"shard_size is {shard_size}. Use 1 or more samples.")
    writer = load_format(format)
    if writer.extra:
        require_library(writer.extra, f"the format {format!r}")
    require_datasets(graph.whole, data)
    graph = resolve(with_datasets(graph.whole, data), load_catalog()).graph
    require_gpu_if_used(graph, describe_machine())
    main = _main_source(graph)
    if evaluation is not None:
        _main_source(with_datasets(evaluation.whole, data))
    if len(split) > 1 and main.kind == "video_frames":
        raise ArgumentError(
            f"{main.id}: a sequence can have frames of two splits. Render each split's videos "
            "separately, without split."
        )
    name = str(parameter_of(main))
    data = datasets_as_read(graph, data)
    for each in data.values():
        require_dataset(each, graph.settings.device)
    excluded = _bad_samples(data[name], name)
    samples = samples_of(data[name], excluded)
    graphs, notes = _graphs(graph, data, len(split), originals, arrays, evaluation)
    divided = divide([each.label for each in samples], split, graph.settings.seed)
    planned = tuple(
        PlannedSplit(
            SPLITS[at], len(own), copies if not at else 1, "eval" if at else "train",
            originals and not at,
        )
        for at, own in enumerate(divided)
    )  # fmt: skip
    classes = tuple(class_names(data[name]))
    largest = max(each.samples for each in planned)
    size = shard_size or max(SHARD_SIZE, -(-largest // _LARGEST_SHARDS))
    if any(node.op in _MIXING for node in graph.walk()) and len(samples) > size:
        notes.append(
            f"Images are mixed with others of their batch, from the same shard of {size:,} samples."
        )
    plan = VersionPlan(
        {key: graph_to_json(each) for key, each in graphs.items()},
        {key: data_text(key, each) for key, each in data.items()},
        {key: data_hash(each, samples if key == name else None) for key, each in data.items()},
        name,
        planned,
        tuple(split),
        format,
        "png" if quality is None else "jpeg",
        quality or 0,
        arrays,
        size,
        graph.settings.seed,
        classes,
        excluded,
        {each: installed_version(each) for each in _LIBRARIES},
    )
    types = {} if arrays else _image_types(plan, samples, data, on_progress)
    pictures = tuple(sorted(key for key, text in types.items() if not text))
    plan = msgspec.structs.replace(plan, pictures=pictures or msgspec.UNSET)
    for key, text in types.items():
        if text and writer.file_per_picture:
            raise ArgumentError(
                f"{key}: the format {format!r} contains pictures, uint8 HWC with 1 or 3 channels, "
                f"but one of the first samples is {text}. Convert it, or use format 'webdataset'."
            )
        if text:
            form = (
                f"arrays, because one of the first samples is {text}, and not uint8 HWC with 1 or 3"
            )
            notes.append(f"{key}: stored as {form} channels.")
        else:
            notes.append(f"{key}: stored as pictures, because the first samples are uint8 HWC.")
    labels = {
        each.name: {samples[at].label for at in own}
        for each, own in zip(planned, divided, strict=True)
    }
    for key in graphs:
        roles = plan_roles(plan, key)
        writer.require(roles, plan)
        notes += [note for note in writer.notes(roles, plan, labels) if note not in notes]
    return msgspec.structs.replace(plan, notes=tuple(notes)), samples, data


def _image_types(
    plan: VersionPlan, samples: Sequence[Sample], data: Datasets, on_progress: Progress
) -> dict[str, str]:
    """Return the types of images that are unknown before a run, by output; "" for pictures.

    The first batch of each graph with such outputs is run in a worker.
    """
    found: dict[str, str] = {}
    tasks = {plan.key_of(task): task for task in reversed(list(plan.tasks()))}
    opened = {key: graph_from_json(plan.graphs[key]) for key in tasks}
    unknown = [k for k, g in opened.items() if unknown_pictures(ResolvedGraph(g, load_catalog()))]
    with tempfile.TemporaryDirectory(prefix="workbench-types-") as place:
        if unknown:
            (Path(place) / WORK).mkdir()
            write_inputs(Path(place), plan, samples, data)
        for key in unknown:
            answer = ask_worker(Path(place), tasks[key], "types", usable_cores(), on_progress)
            found |= {name: found.get(name) or text for name, text in answer.items()}
    return found


_LIBRARIES = ("nvidia-dali-cuda120", "numpy", "pillow")


def _bad_samples(data: Dataset, name: str) -> dict[str, str]:
    """Return the samples whose header shows that they cannot be decoded, with the reasons."""
    usable = UsableData({name: data})
    usable.exclude_bad(full=False)
    found = {one.file: one.reason for one in usable.excluded}
    usable.close()
    if load_source(data.kind).lists_files:
        reason = "its path has a line break, which a list of files cannot contain"
        found |= {each.name: reason for each in list_samples(data) if not fits_list(each)}
    return found


def samples_of(data: Dataset, excluded: Mapping[str, str]) -> list[Sample]:
    """Return the samples of a dataset that are not excluded, in the reader's order."""
    return [each for each in list_samples(data) if each.name not in excluded]


def _main_source(graph: Graph) -> Source:
    """Return the source whose samples are rendered. Raises ArgumentError if that is impossible."""
    nodes = resolve(graph, load_catalog()).nodes
    main = first_reader(nodes)
    assert isinstance(main, Source)
    if main.op != PYTHON_SOURCE.name and parameter_of(main) is None:
        raise ArgumentError(
            f"{main.id}: the graph names its files itself. Remove these arguments, and pass data."
        )
    for source in (node for node in nodes if isinstance(node, Source)):
        _require_divisible(source, main)
    return main


def _require_divisible(source: Source, main: Source) -> None:
    """Raise ArgumentError if a source cannot be divided, or would lose its pairs with the first."""
    kind = None if source.op == PYTHON_SOURCE.name else load_source(source.kind)
    if kind is None or kind.in_memory or not kind.is_listed:
        about = "a Python source" if kind is None else kind.about
        raise ArgumentError(
            f"{source.id}: {about} cannot be rendered, because worker processes and the proof "
            "read the data from files again. Save the images to a folder."
        )
    if is_sampled(source):
        raise ArgumentError(
            f"{source.id}: the source has a sampler, but a version has every sample once per copy. "
            "Reset its sampler options."
        )
    if source.args.get("num_shards", 1) != 1:
        raise ArgumentError(
            f"{source.id}.num_shards is {source.args['num_shards']}, but a version divides the "
            "data itself. Reset num_shards."
        )
    if parameter_of(source) != parameter_of(main) and reads_in_step(source, main):
        raise ArgumentError(
            f"{source.id}: it reads its data in the order of {main.id}, but a version divides only "
            f"the data of {main.id}, so the pairs would change. Set random_shuffle of "
            f"{source.id!r}, or read both from one data set."
        )


def _graphs(
    graph: Graph,
    data: Datasets,
    splits: int,
    originals: bool,
    arrays: bool,
    evaluation: Graph | None,
) -> tuple[dict[str, Graph], list[str]]:
    """Return the graphs of training and evaluation, and of their originals, with notes."""
    found: dict[str, Graph] = {}
    notes: list[str] = []
    if originals:
        found["original train"] = original_graph(graph)
    found["train"] = graph
    if splits > 1:
        resolved = ResolvedGraph(graph, load_catalog())
        if evaluation is not None:
            found["eval"] = resolve(with_datasets(evaluation.whole, data), load_catalog()).graph
        elif (made := validation_graph(resolved)) is not None:
            found["eval"] = made
            notes.append("val and test are rendered with the graph without randomness.")
        else:
            raise ArgumentError(
                "The random operators of this graph cannot be removed for val and test. Pass "
                "evaluation: the graph for these splits (the same graph to augment them, too)."
            )
    prepared = {}
    for key, each in found.items():
        prepared[key], more = graph_to_render(each, arrays=arrays)
        notes += [note for note in more if note not in notes]
    return prepared, notes


def data_hash(data: Dataset, samples: Sequence[Sample] | None) -> str:
    """Return a hash of a dataset: its annotation file, and the names and labels of samples."""
    digest = hashlib.sha256()
    if os.path.isfile(data.place):
        digest.update(bytes.fromhex(file_hash(Path(data.place))))
    for each in samples or ():
        digest.update(f"{each.name}\n{each.label}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def data_text(name: str, data: Dataset) -> str:
    """Return the location of a dataset in a plan; for a list of files, that of a copy."""
    return f"{data.kind}:{data.place}" if data.location else list_file(name)


def write_inputs(
    folder: Path, plan: VersionPlan, samples: Sequence[Sample], lists: Datasets | None = None
) -> None:
    """Write the plan, and the data of each split if it is not all of the data.

    Of the datasets ``lists``, those without a location are written as lists of files.
    """
    for name, listed in (lists or {}).items():
        if not listed.location:
            write_complete(folder / list_file(name), [dump_file_list(list_samples(listed))])
    data = open_plan_data(plan, folder)[plan.main]
    kind = load_source(data.kind)
    main = next(
        node
        for node in graph_from_json(plan.graphs["train"]).sources
        if parameter_of(node) == plan.main
    )
    place = folder / WORK / "data"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    divided = divide([each.label for each in samples], plan.shares, plan.seed)
    names = {each.name for each in samples}
    for split, own in zip(plan.splits, divided, strict=True):
        if kind.lists_files:
            if main.args.get("random_shuffle") or main.args.get("shuffle_after_epoch"):
                random.Random(plan.seed).shuffle(own)
            content = dump_file_list(samples[at] for at in own)
            path = place / f"{split.name}.txt"
            path.write_bytes(content)
        elif len(plan.splits) > 1 or plan.excluded:
            others = (names - {samples[at].name for at in own}) | set(plan.excluded)
            path = write_remaining(data, others, place / split.name)
            part = replace(data, location=os.fspath(path), items=())
            for number, pair in enumerate(zip(class_names(part), plan.classes, strict=False)):
                if pair[0] not in (pair[1], str(number)):  # a class without a name has its number
                    raise DataError(
                        f"{data}: class {number} is {pair[0]!r} in {split.name!r} alone, and "
                        f"{pair[1]!r} in all samples. Store the class names with the data."
                    )
        else:
            continue  # all of the data
        (place / f"{split.name}{PATH}").write_text(os.path.relpath(path, place))
    # Last: a folder with a plan has all inputs.
    write_complete(folder / WORK / "plan.json", [plan.dump()])
