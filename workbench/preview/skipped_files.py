"""Which files of a script's batches the preview leaves out: such a file ends the script."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.engine.registry import task
from workbench.engine.undecodable_samples import Sample
from workbench.engine.worker import Worker
from workbench.errors import PipelineError
from workbench.graph.devices import is_decoder
from workbench.graph.model import Graph, Port, Source, ancestors
from workbench.graph.sources import parameters
from workbench.sources import Datasets, every_file, unreadable

_NAMED = 5


@task
def skipped_files(worker: Worker, graph: Graph, data: Datasets, batch: int) -> list[Sample]:
    """Task: the bad files that may have ended a script in batch ``batch`` (from 0).

    Those of that batch and of the ones that DALI prefetches. Where there is none, those of the
    whole folder that cannot be read: a reader that shuffles reads far ahead. Raises DataError where
    the folder has no images.
    """
    catalog = worker.runner.catalog
    needed = ancestors(graph, list(graph.outputs.values()))
    taps = [
        Port(node.id, catalog[node.op].outputs[0].name)
        for node in graph.nodes
        if node.id in needed and (isinstance(node, Source) or is_decoder(catalog[node.op]))
    ]
    settings = graph.settings
    found: dict[str, Sample] = {}
    for number in range(batch, batch + settings.prefetch_queue_depth + 1):
        try:
            result = worker.runner.run(graph, data, number, settings.batch_size, taps)
        except PipelineError:  # it fails here too, for a reason that the script gave already
            break
        found |= {sample.file: sample for sample in result.samples if sample.error}
    if not found and parameters(graph.nodes):
        for file in every_file(data):
            if reason := unreadable(file.path):
                found[file.name] = Sample(file.name, reason)
    return list(found.values())


def describe_skipped(samples: Sequence[Sample]) -> str:
    """The files with their reasons, and what to do."""
    named = [f"{sample.file} ({sample.error})" for sample in samples[:_NAMED]]
    if len(samples) > _NAMED:
        named.append(f"and {len(samples) - _NAMED} more")
    return (
        "A file that cannot be decoded ends a script, while the preview leaves it out: "
        f"{', '.join(named)}. Remove or replace what is named."
    )
