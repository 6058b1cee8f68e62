"""Compute the share of each class in the samples that a sampler reads, for the Data panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from nvidia.dali import Pipeline

from workbench.catalog.spec import Value
from workbench.graph.execution.dataset_parameters import is_sampled, parameter_of
from workbench.graph.model import Graph
from workbench.sources import SAMPLER_OPTIONS
from workbench.sources.kinds._sampler import Sampler

_EPOCHS = 10
"""Number of epochs that are counted if the shares are not known from weights."""


def sampler_of(graph: Graph, parameter: str) -> dict[str, Value]:
    """Return the sampler options of the source that reads ``parameter``; {} without a sampler."""
    sources = [each for each in graph.sources if parameter_of(each) == parameter]
    found = next(filter(is_sampled, sources), None)
    return {} if found is None else {n: v for n, v in found.args.items() if n in SAMPLER_OPTIONS}


def sampled_shares(
    options: Mapping[str, Any], counts: Sequence[int], labels: Sequence[int]
) -> list[float]:
    """Return the share of each class in the samples that a sampler reads.

    ``counts`` has the number of samples of each class. ``labels`` are in file order; if they are
    empty, the result of a sampler that selects single samples is empty.
    """
    if not {"indices", "sample_weights"} & options.keys():
        labels = np.repeat(np.arange(len(counts)), counts)  # type: ignore[assignment]  # any order
    try:
        with Pipeline(1, 1, None):
            sampler = Sampler(len(labels), labels, **options)
    except (ValueError, IndexError):
        return []  # the reader reports the cause
    if sampler.replacement:
        drawn, weights = sampler.indices, sampler.weights
    else:
        drawn = np.concatenate([sampler.epoch(number) for number in range(_EPOCHS)])
        weights = np.full(len(drawn), 1 / len(drawn))
    shares = np.bincount(np.asarray(labels)[drawn], weights, len(counts))
    return [float(share) for share in shares]
