"""Code shared by the commands that measure: options, progress bar, output and records."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from workbench.commands.options import (
    DATA,
    SOURCE,
    load_source_graph,
    open_graph_on_data,
    picture_file,
    refuse_overwriting_source,
    report_errors,
    writable_file,
    write_figure,
)
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.model.bounds import SETTINGS
from workbench.sources import Datasets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.bench.experiments.speed_experiment import SpeedExperiment
    from workbench.bench.measuring.measurement import Measurement
    from workbench.bench.records.record import Report

Progress = Callable[[float, str], None]
P = ParamSpec("P")
T = TypeVar("T")


class FiniteFloatRange(click.FloatRange):
    """Parameter type for a finite number in a range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


def ascending_numbers(
    kind: type[int] | type[float], maximum: float = math.inf
) -> Callable[..., tuple[float, ...] | None]:
    """Return a callback that parses increasing, comma-separated numbers such as 1,2,4.

    ``maximum`` is the largest allowed number.
    """

    def read(_: click.Context, __: click.Parameter, text: str | None) -> tuple[float, ...] | None:
        if text is None:
            return None
        try:
            found = tuple(kind(part) for part in text.split(","))
        except ValueError:
            found = ()
        rising = list(found) == sorted(set(found)) and all(map(math.isfinite, found))
        if not found or not rising or found[0] < (kind is int):
            form = "1 or more, such as 1,2,4" if kind is int else "0 or more, such as 0,0.5,1"
            raise click.BadParameter(f"{text!r} is not valid. Use increasing numbers of {form}.")
        if found[-1] > maximum:
            raise click.BadParameter(f"{found[-1]:g} is out of range. The maximum is {maximum:g}.")
        return found

    return read


def names_among(known: Sequence[str], noun: str) -> Callable[..., tuple[str, ...] | None]:
    """Return a callback that parses comma-separated names and sorts them in the order of ``known``.

    ``noun`` describes a name in error messages, such as "executor".
    """

    def read(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        found = {part.strip() for part in text.split(",")}
        for name in sorted(found - set(known)):
            raise click.BadParameter(
                f"{name[:40]!r} is not a known {noun}. Use one of: {', '.join(known)}."
            )
        return tuple(name for name in known if name in found)

    return read


def numbers_to_try(
    name: str, setting: str, help_text: str
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that adds an option for increasing, comma-separated setting values."""
    most = SETTINGS[setting][1]
    return click.option(
        name, metavar="N,...", callback=ascending_numbers(int, most), help=help_text
    )


JSON = click.option(
    "--json",
    "record",
    metavar="FILE",
    callback=writable_file,
    help="Write the record to this file.",
)
PLOT = click.option(
    "--plot", "picture", metavar="FILE", callback=picture_file, help="Write a chart: .png or .svg."
)
CACHE = click.option(
    "--cache",
    type=click.Choice(["warm", "cold", "as found"]),
    default="warm",
    show_default=True,
    help="State of the page cache: all files in memory, none, or unchanged.",
)
NAME = click.option("--name", default="", help="Name of the record.")
LOAD = click.option(
    "--load", type=FiniteFloatRange(0, 1), help="hw_decoder_load of the decoders, from 0 to 1."
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="GRAPH.json",
    callback=writable_file,
    help="Write the faster graph to this file.",
)
SCRIPT = click.option(
    "--script",
    metavar="pipe.py",
    callback=writable_file,
    help="Write the script of the faster graph to this file.",
)
ONE_DEVICE = click.option(
    "--device", type=click.Choice(["cpu", "mixed"]), help="Overrides the device of the graph."
)

BUDGET = click.option(
    "--budget",
    type=FiniteFloatRange(0),
    default=30.0,
    show_default=True,
    help="Time limit for each configuration in seconds, including build and warm-up.",
)


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """Options shared by the commands that measure one graph on one device.

    If ``device`` is None, the graph's own device is used.
    """

    graph: Graph
    data: Datasets
    device: DecodeDevice | None
    name: str
    record: str | None
    picture: str | None

    def write(self, report: Report, plot: Callable[[], Figure] | None = None) -> None:
        """Write the record and its chart (``plot``, or the report's), if requested.

        Raises SaveError if that fails.
        """
        write_record(report, self.record, self.picture, plot)

    def finish(self, report: Report) -> None:
        """Write the record, and exit with code 1 if a result is missing.

        If the run was interrupted, a note is printed first.
        """
        print_interrupted(report)
        self.write(report)
        require_measured(report)


def measure_options(
    function: Callable[Concatenate[MeasureOptions, P], None],
) -> Callable[..., None]:
    """Add the options of ``MeasureOptions`` to a command, and pass them as its first argument."""

    @SOURCE
    @DATA
    @ONE_DEVICE
    @JSON
    @NAME
    @PLOT
    @report_errors
    @wraps(function)
    def wrapped(
        graph: str,
        data: Datasets,
        device: DecodeDevice | None,
        name: str,
        record: str | None,
        picture: str | None,
        *args: P.args,
        **own: P.kwargs,
    ) -> None:
        script = own.get("script")  # -o of tune is not checked: it may update the graph file itself
        refuse_overwriting_source(
            graph, record, picture, script if isinstance(script, str) else None
        )
        edited, datasets = open_graph_on_data(load_source_graph(graph), data)
        options = MeasureOptions(edited, datasets, device, name, record, picture)
        function(options, *args, **own)

    return wrapped


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Context manager that shows a progress bar on standard error. Yields its update callback."""
    with click.progressbar(length=1000, label="measuring", file=sys.stderr, show_eta=False) as bar:

        def progress(share: float, text: str) -> None:
            bar.label = text
            bar.update(int(share * 1000) - bar.pos)

        yield progress


def echo_above_bar(line: str) -> None:
    """Print a line on standard error while a progress bar is shown."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    click.echo(f"{clear}{line}", err=True)


def run_with_bar(experiment: SpeedExperiment) -> Report:
    """Run an experiment with a progress bar. Ctrl+C ends the run and returns the results so far.

    Raises ClickException if there are no results yet.
    """
    with progress_bar() as progress:
        try:
            return experiment.run_interruptibly(progress)
        except KeyboardInterrupt:
            raise click.ClickException(
                "Interrupted before the first result, so nothing is saved."
            ) from None


def print_machine(report: Report) -> None:
    """Print a description of the machine and of the data."""
    for bad in report.left_out:
        click.echo(f"skipped: {bad}", err=True)
    machine = report.machine
    click.echo(
        f"{machine.cpu}, {machine.cores} cores; {machine.gpu_name or 'no GPU'}; DALI {machine.dali}"
    )
    cache = report.cache
    if cache is not None:
        there = "" if cache.resident is None else f"; {cache.resident:.0%} in memory"
        without = f" without {len(report.left_out):,} bad" if report.left_out else ""
        click.echo(f"{report.files} files{without}, page cache {cache.state} ({cache.how}{there})")


def print_rows(report: Report, rows: Sequence[Measurement] | None = None) -> None:
    """Print the machine, and a line for each of ``rows``, by default all rows of the report."""
    print_machine(report)
    for row in report.measurements if rows is None else rows:
        if row.interval is None:
            click.echo(f"{row.name:34} {row.reason}")
            continue
        if len(row.rounds) == 1:
            how = f"{row.config.settings}; one round of {row.rounds[0].seconds:.0f} s"
        else:
            how = (
                f"{row.spread_text}; {row.config.settings}; {len(row.rounds)} rounds"
                f"{', ' * bool(row.ending)}{row.ending}"
            )
        click.echo(f"{row.name:34} {row.rate_text} ({how})")
        for words in row.notes:
            click.echo(f"{'':35}{words}")
    print_quality_flags(report.measurements if rows is None else rows)


def print_quality_flags(rows: Sequence[Measurement], with_uncertainty: bool = True) -> None:
    """Print each reason not to trust a result, without duplicates."""
    from workbench.bench.records.report_text import quality_flags

    for words in quality_flags(rows, with_uncertainty):
        click.echo(f"caution: {words}")


def write_record(
    report: Report,
    record: str | None,
    picture: str | None,
    plot: Callable[[], Figure] | None = None,
) -> None:
    """Write the record and its chart, if requested. Raises SaveError if that fails.

    After an interrupted run, the path of the record is printed.
    """
    from workbench.bench.records.record import dump_report
    from workbench.files import write_text

    if record:
        write_text(record, dump_report(report))
    if picture and any(row.rounds for row in report.measurements):
        write_figure((plot or report.plot)(), picture)
    if report.extra.get("interrupted"):
        without = "No record was written. Pass --json FILE to store the results."
        click.echo(f"The record is in {record}." if record else without)


def print_interrupted(report: Report) -> None:
    """Print how much of an interrupted run was measured."""
    from workbench.bench.records.report_text import interrupted_text

    if words := interrupted_text(report):
        click.echo(words)


def require_measured(report: Report) -> None:
    """Exit with code 1 if a configuration that this machine supports was not measured.

    This does not apply to an interrupted run, because the user ended it.
    """
    if report.extra.get("interrupted"):
        return
    failed = [row for row in report.measurements if row.median is None]
    if len(failed) == len(report.measurements):
        raise click.ClickException("Nothing could be measured. The reasons are printed above.")
    missing = report.machine.no_gpu
    failed = [
        row
        for row in failed
        if row.config.program == "DALI" and (not missing or missing not in row.reason)
    ]  # a library that cannot run this graph is a result, not a failure
    if failed:
        raise click.ClickException(
            f"{len(failed)} of {len(report.measurements)} configurations could not be measured. "
            "The reasons are printed above."
        )
