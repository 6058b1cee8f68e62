"""Adapt a graph to the annotations of new data: add them as outputs that follow the image."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import DataError
from workbench.graph.annotations.follower_edits import bypassed, with_new_targets
from workbench.graph.annotations.followers import follows
from workbench.graph.checks.check import stopping_faults
from workbench.graph.execution.dataset_parameters import (
    kind_for,
    missing_ports,
    parameter_of,
    with_datasets,
)
from workbench.graph.model import Graph, Port, Source
from workbench.graph.model.ports import outputs_of
from workbench.sources import Dataset, Datasets, load_source

_TARGETS = ("boxes", "points", "mask", "label")


def with_opened(graph: Graph, data: Datasets, catalog: Catalog) -> Graph:
    """Return the graph with each source converted to the kind of its data.

    Annotations that only the new source has become outputs and follow the image. Annotations that
    the new source lacks are removed. Raises DataError like ``with_datasets`` and ``require_runs``.
    """
    changed = {
        source.id: missing_ports(graph, source, kind_for(graph, source, data[name]), data[name])
        for source in graph.sources
        if (name := parameter_of(source)) and name in data and _kind_may_change(source, data[name])
        if source.op in catalog  # in a faulty file it may be anything
    }
    before = graph
    for source, missing in changed.items():
        graph = _without_targets(graph, source, missing, catalog)
    graph = with_datasets(graph, data)
    require_runs(before, graph, data, catalog)
    given = dict(graph.outputs)
    for source in changed:
        node, earlier = graph.node(source), before.node(source)
        had = {output.name for output in outputs_of(earlier, catalog[earlier.op])} | given.keys()
        for output in outputs_of(node, catalog[node.op]):
            port = Port(source, output.name)
            if output.kind in _TARGETS and output.name not in had and not _used(graph, port):
                given[output.name] = port
    if given.keys() == graph.outputs.keys():
        return graph
    new = given.keys() - graph.outputs.keys()
    return with_new_targets(replace(graph, outputs=given), catalog, new)


def describe_removed_outputs(before: Graph, opened: Graph) -> str:
    """Describe the outputs that ``with_opened`` removed, or return an empty string."""
    names = [name for name in before.outputs if name not in opened.outputs]
    listed = ", ".join(names)
    return f"the data have no annotations for these outputs: {listed} (removed)" if names else ""


def without_missing_targets(graph: Graph, data: Datasets, catalog: Catalog) -> Graph | None:
    """Return the graph without annotations that the data lack, or None if it then cannot run."""
    for source in graph.sources:
        name = parameter_of(source)
        if name is not None and name in data:
            kind = load_source(data[name].kind)
            rest = {output.name for output in outputs_of(source, catalog[source.op])} - {
                *kind.outputs
            }
            graph = _without_targets(graph, source.id, rest, catalog)
            known = catalog[kind.op].args
            args = {key: value for key, value in source.args.items() if key in known}
            graph = graph.replace_node(replace(source, args=args))
    try:
        opened = with_opened(graph, data, catalog)
    except DataError:
        return None
    return None if stopping_faults(opened, catalog) else opened


def require_runs(before: Graph, converted: Graph, data: Datasets, catalog: Catalog) -> None:
    """Raise DataError if a valid graph cannot run on data of a different kind.

    ``converted`` is the graph converted for these data. The message names missing ports first.
    """
    for source in before.sources:
        name = parameter_of(source)
        if name is None or name not in data or not _kind_may_change(source, data[name]):
            continue
        faults = stopping_faults(converted, catalog)
        if not faults or stopping_faults(before, catalog):
            return
        with_datasets(before, data)
        own, other = load_source(source.kind), load_source(data[name].kind)
        raise DataError(
            f"{source.id}: {data[name]} is a {other.about}, but the graph needs "
            f"{own.about}: {faults[0]} Alternatively, use data of that kind. {own.remedy}"
        )


def _kind_may_change(source: Source, data: Dataset) -> bool:
    """Return whether the kind of a source must change to read a dataset."""
    return data.kind != source.kind and data.kind not in load_source(source.kind).takes


def _used(graph: Graph, port: Port) -> bool:
    return any(port in node.inputs.values() for node in graph.nodes)


def _without_targets(
    graph: Graph, source: str, missing: Collection[str], catalog: Catalog
) -> Graph:
    """Remove the outputs and followers of a source's annotations that are in ``missing``."""
    node = graph.node(source)
    assert isinstance(node, Source)
    spec = catalog.find(node.op)
    removed = {
        Port(source, output.name)
        for output in (outputs_of(node, spec) if spec is not None else ())
        if output.name in missing and output.kind not in ("encoded", "image")
    }
    for follower in graph.nodes:
        if follows(follower) and removed & {*follower.inputs.values()}:
            graph = bypassed(graph, catalog, follower)
    outputs = {name: port for name, port in graph.outputs.items() if port not in removed}
    return replace(graph, outputs=outputs) if outputs else graph
