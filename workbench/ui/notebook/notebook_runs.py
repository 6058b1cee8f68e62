"""Run measurements and comparisons from cells, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from workbench.arguments import WHOLE, argument_errors_as, checked, require_names
from workbench.bench import Benchmark, Report
from workbench.bench.experiments.benchmark import BenchOptions
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.experiments.tune import TuningExperiment
from workbench.bench.experiments.tuned_report import TunedReport, tuned_report
from workbench.engine.protocol.progress import share_bar
from workbench.graph.model import DecodeDevice
from workbench.health.memory import MemoryEstimate, memory
from workbench.optimiser import Optimisation, optimise
from workbench.preview.verify import Verification, verify

if TYPE_CHECKING:
    from workbench.sources import Datasets
    from workbench.ui.app.view_model import ViewModel


E = TypeVar("E", bound=SpeedExperiment)
_STAGE_SECONDS, _TUNE_SECONDS = 60.0, 120.0
"""Default time limits of ``stages`` and ``tune``."""
GIVEN = ("graph", "data", "on_progress")
"""Parameters of experiments that the workbench sets, not the user."""


def _create_experiment(
    name: str, make: Callable[..., E], options: Mapping[str, Any], *arguments: Any
) -> E:
    """Create an experiment by calling ``make``. ``name`` is the method's name in error messages."""
    _require_options(name, make, options)
    with argument_errors_as(name, make.__name__):
        return make(*arguments, **options)


def _require_options(name: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise ArgumentError for an option that ``function`` does not accept from the user."""
    parameters = signature(function)
    own = [each for each in parameters.parameters.values() if each.name not in GIVEN]
    require_names(name, options, parameters.replace(parameters=own))


def run_with_bar(experiment: SpeedExperiment) -> Report:
    """Run an experiment with a progress bar. After an interrupt, return the results so far.

    If there are no results, the interrupt is reported on one line.
    """
    with share_bar() as on_progress:
        try:
            return experiment.run(on_progress)
        except KeyboardInterrupt:
            experiment.cancel()
            so_far = experiment.interrupted_report() or experiment.partial_report
            if so_far is None:
                raise
            return so_far


class RunAccess:
    """Methods of ``Workbench`` (its subclass) that run measurements and comparisons.

    Each run shows its progress. After an interrupt, it returns the results so far, or reports the
    interrupt on one line.
    """

    graph: Any
    _written = "w"

    @property
    def _live(self) -> ViewModel:
        raise NotImplementedError

    @property
    def _read_data(self) -> Datasets:
        return self._live.data_panel.datasets

    @checked()
    def bench(self, **options: Unpack[BenchOptions]) -> Report:
        """Measure imgs/s of the exported script, with CPU and mixed decoding interleaved.

        ``options`` are those of ``Benchmark``; the errors are those of ``Benchmark.run``::

            report = w.bench(devices=("cpu",), measurement_config=COARSE_CONFIG)
        """
        return self._measured(
            _create_experiment("w.bench", Benchmark, options, self.graph, self._read_data)
        )

    @checked()
    def stages(self, **options: Any) -> Report:
        """Measure the cost of each stage, and find the slowest files, in at most a minute.

        ``options`` are ``seconds`` (60 by default; None means no limit), ``measurement_config``,
        ``cache`` (``"warm"`` or ``"cold"``) and ``name``. Raises DataError for data that cannot be
        used, and EngineError if nothing can be measured.

        ::

            report = w.stages(measurement_config=COARSE_CONFIG)
            print(report.to_frame())
        """
        options.setdefault("seconds", None if "measurement_config" in options else _STAGE_SECONDS)
        return self._measured(
            _create_experiment(
                "w.stages", StageCostExperiment, options, self.graph, self._read_data
            )
        )

    @checked()
    def tune(self, device: DecodeDevice | None = None, **options: Any) -> TunedReport:
        """Find the fastest threads, batch size and prefetch on this machine, in two minutes.

        The progress bar names each setting while it is measured, and the report shows all of them.
        ``best`` of the report is the speed of the fastest settings, and ``best_settings`` names
        them. ``apply()`` of the report returns the graph with these settings.

        ``device`` is ``"cpu"`` or ``"mixed"``, by default the graph's; ``options`` are ``grid``,
        ``seconds`` (time limit, by default 120, or None if ``grid`` or ``measurement_config`` is
        passed), ``host_limit`` and ``gpu_limit`` (bytes), ``measurement_config``, ``cache`` and
        ``name``.
        Raises DataError for data that cannot be used, and EngineError if nothing can be measured.

        ::

            grid = wb.Grid(threads=(1, 2), batch_size=(8,), prefetch=(2,))
            report = w.tune("cpu", grid=grid, measurement_config=COARSE_CONFIG)
            print(report.best_settings)
            w.graph = report.apply()
        """
        data, graph = self._read_data, self.graph
        limit = {} if {"grid", "measurement_config"} & {*options} else {"seconds": _TUNE_SECONDS}
        given = {"device": device, **limit, **options}
        return tuned_report(
            self._measured(_create_experiment("w.tune", TuningExperiment, given, graph, data)),
            graph,
        )

    def _measured(self, experiment: SpeedExperiment) -> Report:
        """Run an experiment with a progress bar, and add its report to the Speed panel."""
        report = run_with_bar(experiment)
        self._live.speed.add_report(report)
        return report

    @checked()
    def optimise(self, **options: Any) -> Optimisation:
        """Find rewrites that make the current graph faster, as ``workbench.optimise`` does.

        Accepts the same ``rewrites``, ``seconds`` and ``config``, and raises the same errors. To
        apply the rewrites: ``w.graph = found.apply("exact")``.

        ::

            found = w.optimise(rewrites=("crop-in-decoder",), config=COARSE_CONFIG)
        """
        _require_options("w.optimise", optimise, options)
        with argument_errors_as("w.optimise", "optimise"):
            return optimise(self.graph, self._read_data, **options)

    @checked()
    def memory(self) -> MemoryEstimate:
        """Predict the peak memory of the current graph, as ``workbench.memory`` does.

        Raises the same errors.

        ::

            print(w.memory())
        """
        return memory(self.graph, self._read_data)

    @checked(batches=WHOLE)
    def verify(self, batches: int = 3) -> Verification:
        """Compare the preview with the exported script, bit for bit, skipping bad files.

        Raises GraphFaultsError if the graph cannot run, and DataError for data that cannot be used.

        ::

            assert w.verify(batches=1).exact
        """
        with argument_errors_as("w.verify", "verify"):
            return verify(self.graph, self._read_data, batches)
