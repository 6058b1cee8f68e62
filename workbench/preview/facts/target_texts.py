"""Targets that have no place on a picture, in words: paths, ids, and shares of classes.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.run.worker import Worker
from workbench.errors import DataError
from workbench.graph.model import Port, Source
from workbench.graph.types.label_numbers import labels_source
from workbench.preview.facts.value_text import number_text
from workbench.preview.request import GraphRun
from workbench.sources import class_names

_SHARED = ("one_hot", "follow_labels")
_KINDS = ("label", "number", "any")
_MOST_SHARES = 3
_LEAST_SHARE = 0.005


def target_texts(worker: Worker, run: GraphRun, label: Port | None) -> list[tuple[str, ...]]:
    """For each sample ``image_ids 17`` of each such output but ``label``, which a tile names."""
    found: list[list[str]] = [[] for _ in run.result.samples]
    for name, port in run.graph.outputs.items():
        kind = run.resolved.kind(port)
        beside_boxes = Port(port.node, "boxes") in run.result.batches and kind == "label"
        if port == label or kind not in _KINDS or beside_boxes:
            continue
        if run.resolved.devices.get(port.node) == "gpu":  # to show them would mean to fetch them
            continue
        for index, array in enumerate(run.result.batches[port].arrays()):
            text = target_text(worker, run, port, array)
            if not text and array.size == 1 and array.dtype.kind in "biuf":
                text = number_text(array.reshape(-1)[0])
            if text:
                found[index].append(f"{name} {text}")
    return [tuple(each) for each in found]


def target_text(worker: Worker, run: GraphRun, port: Port, array: NDArray[Any]) -> str:
    """A path, or the classes of a one-hot label with their shares; empty for what is neither."""
    node = run.graph.node(port.node)
    if node.op == "get_property":
        return array.astype(np.uint8).tobytes().decode(errors="replace")
    if node.op not in _SHARED or array.ndim != 1 or array.dtype.kind not in "biuf":
        return ""
    names = class_names_of(worker, run, labels_source(run.graph, run.resolved.catalog, port))
    shares = array.astype(np.float64)
    classes = [int(at) for at in np.argsort(-shares, kind="stable") if shares[at] > _LEAST_SHARE]
    named = [(names[at] if at < len(names) else str(at), shares[at]) for at in classes]
    texts = [name if share == 1 else f"{name} {share:.2f}" for name, share in named[:_MOST_SHARES]]
    return ", ".join([*texts, *(["…"] if len(named) > _MOST_SHARES else [])]) or "none"


# The names of the classes that labels stand for.
#
# Runs inside the worker process only.


def names_of_labels(
    worker: Worker, run: GraphRun, port: Port | None, labels: Sequence[str]
) -> list[str]:
    """For each label of a port the name of its class, or the label where it has none."""
    names = class_names_of(worker, run, port)
    return [_name(names, label) for label in labels]


def _name(names: Sequence[str], label: str) -> str:
    known = label.isdecimal() and int(label) < len(names)
    return names[int(label)] if known else label


def class_names_of(worker: Worker, run: GraphRun, port: Port | None) -> list[str]:
    """Those of the data that a source reads, looked up again only after the data have changed."""
    plan = run.result.plan
    source = next((n for n in run.nodes if port is not None and n.id == port.node), None)
    dataset = plan.dataset(source) if isinstance(source, Source) else None
    if dataset is None:
        return []
    key = dataset, plan.version
    kept = worker.kept.get(("class names",))
    if kept is None or kept[0] != key:
        try:
            kept = key, class_names(dataset)
        except (DataError, OSError):  # the data went meanwhile: the next picture says so
            return []
        worker.kept[("class names",)] = kept
    names: list[str] = kept[1]
    return names
