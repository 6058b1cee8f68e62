"""Faster graphs that give the same pixels: rewrites, compared and measured on the user's data."""

from __future__ import annotations

from collections.abc import Collection

from workbench.arguments import NAMES, checked
from workbench.bench.measuring.measurement_config import MEASUREMENT, MeasurementConfig
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.graph.model import GRAPH, Graph
from workbench.optimiser.experiment import OptimisationExperiment
from workbench.optimiser.proposal import Proposal
from workbench.optimiser.result import Optimisation, optimisation_of
from workbench.sources import Data

__all__ = [
    "Optimisation",
    "OptimisationExperiment",
    "Proposal",
    "optimisation_of",
    "optimise",
]


@checked(graph=GRAPH, rewrites=NAMES, config=MEASUREMENT)
@with_progress_bar()
def optimise(
    graph: Graph,
    data: Data,
    rewrites: Collection[str] | None = None,
    *,
    seconds: float | None = None,
    config: MeasurementConfig | None = None,
    on_progress: Progress = lambda share, text: None,
) -> Optimisation:
    """Rewrites that make a graph faster on these data, each with its gain and its difference.

    Every rewrite of ``workbench.graph.rewrites`` (or those named) that finds a place is done behind
    those before it. Its outputs are compared with the graph's over two batches: *exact* ones must
    give every byte, *near* ones at least 35 dB. Then all are measured in turns, beside the graph
    twice: what is slower by more than that control's noise is not proposed. Takes about 10 s for
    each, and no more than ``seconds`` (20 or more) in all: what finds no room in them is not
    proposed and says so. Without ``on_progress`` a bar shows how far it is. Ctrl-C keeps what was
    measured until then.

    ::

        found = wb.optimise(graph, "photos", config=COARSE_CONFIG)
        print(found)
        faster = found.apply("exact")

    Raises GraphFaultsError where the graph cannot run, DataError for the data, GraphEditError for
    a rewrite that there is not, and EngineError where nothing can be measured (in that time).
    """
    named = (rewrites,) if isinstance(rewrites, str) else rewrites
    run = OptimisationExperiment(graph, data, named, seconds=seconds, measurement_config=config)
    return optimisation_of(graph, run.run_interruptibly(on_progress))
