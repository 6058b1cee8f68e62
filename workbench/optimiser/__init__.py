"""Find rewrites that make a graph faster without visible changes, and measure them."""

from __future__ import annotations

from collections.abc import Collection

from workbench.arguments import NAMES, checked
from workbench.bench.measuring.measurement_config import MEASUREMENT, MeasurementConfig
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.graph.model import GRAPH, Graph
from workbench.optimiser.experiment import OptimisationExperiment
from workbench.optimiser.proposal import Objective, Proposal
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
    objective: Objective = "speed",
    config: MeasurementConfig | None = None,
    on_progress: Progress = lambda share, text: None,
) -> Optimisation:
    """Find rewrites that make a graph faster, and measure their speed-ups and pixel differences.

    The rewrites of ``workbench.graph.rewrites`` (or those in ``rewrites``) are applied one after
    the other. Their outputs are compared with the graph's over two batches: *exact* rewrites must
    be bit-identical, *near* ones need at least 35 dB PSNR, and at least the PSNR of the graph with
    other sampling filters (up to 45 dB). Then all are measured, interleaved with two copies of the
    original as a control. From the gains, other orders and combinations are predicted, and the most
    promising are measured too. A rewrite that is slower by more than the control's noise is
    rejected. ``objective="memory"`` searches for the smallest peak memory instead.

    After ``seconds`` (20 or more), or after Ctrl-C, the best result
    so far is returned. Without ``on_progress`` a progress bar is shown.

    ::

        found = wb.optimise(graph, "photos", config=COARSE_CONFIG)
        print(found)
        faster = found.apply("exact")

    Raises GraphFaultsError if the graph cannot run, DataError if the data cannot be used,
    GraphEditError for an unknown rewrite, and EngineError if the graph cannot be measured.
    """
    named = (rewrites,) if isinstance(rewrites, str) else rewrites
    run = OptimisationExperiment(
        graph, data, named, seconds=seconds, objective=objective, measurement_config=config
    )
    return optimisation_of(graph, run.run_interruptibly(on_progress))
