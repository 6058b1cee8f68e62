"""The names of the classes that labels stand for.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.engine.run.worker import Worker
from workbench.errors import DataError
from workbench.graph.model import Port, Source
from workbench.preview.request import GraphRun
from workbench.sources import class_names


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
