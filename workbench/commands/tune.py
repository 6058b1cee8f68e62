"""``workbench tune`` and ``optimise``: find faster settings, and faster graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from workbench.commands.measuring import (
    OUTPUT,
    SCRIPT,
    FiniteFloatRange,
    MeasureOptions,
    ascending_numbers,
    echo_above_bar,
    measure_options,
    names_among,
    numbers_to_try,
    print_machine,
    print_quality_flags,
    print_rows,
    run_with_bar,
)
from workbench.errors import GraphEditError
from workbench.graph.model import CHOICES, DecodeDevice
from workbench.graph.model.bounds import FILES
from workbench.graph.resolved import ResolvedGraph

if TYPE_CHECKING:
    from workbench.bench.measuring.config import Config
    from workbench.bench.records.record import Report
    from workbench.optimiser.proposal import Objective


# ``workbench tune``: the fastest settings.

EXECUTORS = CHOICES["executor"]


@click.command()
@measure_options
@numbers_to_try("--threads", "num_threads", "Thread counts to try, for example 2,4,8.")
@numbers_to_try("--batch-sizes", "batch_size", "Batch sizes to try.")
@numbers_to_try("--prefetch", "prefetch_queue_depth", "Prefetch depths to try.")
@numbers_to_try("--pipelines", "pipelines", "Numbers of pipelines in one process to try.")
@click.option(
    "--loads",
    metavar="X,...",
    callback=ascending_numbers(float, 1),
    help="Values of hw_decoder_load to try, from 0 to 1.",
)
@click.option(
    "--executors",
    callback=names_among(EXECUTORS, "executor"),
    metavar="NAMES",
    help=f"Executors to try, comma-separated: {', '.join(EXECUTORS)}.",
)
@click.option(
    "--files",
    callback=names_among(FILES, "kind of file access"),
    metavar="NAMES",
    help="File access to try: mapped, read (dont_use_mmap of the readers), or mapped,read.",
)
@click.option(
    "--regime",
    type=click.Choice(["decode", "pipeline"]),
    default="pipeline",
    show_default=True,
    help="Tune decoding alone, or the whole pipeline.",
)
@click.option("--exhaustive", is_flag=True, help="Measure all settings. Takes five times as long.")
@click.option(
    "--seconds",
    type=FiniteFloatRange(20),
    metavar="S",
    help="Time limit. Default: a fifth of the time for all settings.",
)
@click.option("--memory", type=FiniteFloatRange(0), metavar="GIB", help="Limit of host memory.")
@click.option("--gpu-memory", type=FiniteFloatRange(0), metavar="GIB", help="Limit of GPU memory.")
@OUTPUT
@SCRIPT
def tune(
    options: MeasureOptions,
    threads: tuple[int, ...] | None,
    batch_sizes: tuple[int, ...] | None,
    prefetch: tuple[int, ...] | None,
    pipelines: tuple[int, ...] | None,
    loads: tuple[float, ...] | None,
    executors: tuple[str, ...] | None,
    files: tuple[str, ...] | None,
    regime: str,
    exhaustive: bool,
    seconds: float | None,
    memory: float | None,
    gpu_memory: float | None,
    output: str | None,
    script: str | None,
) -> None:
    """Find the fastest settings of a graph.

    Varies threads, pipelines, batch size and prefetch depth; on a GPU also hw_decoder_load,
    executor and dont_use_mmap. Writes a graph or a script with the best settings.

    Example:  workbench tune imagenet-train --data photos -o tuned.json
    """
    from dataclasses import replace

    from workbench.bench.experiments.grid_experiment import SweepExperiment, describe_ineffective
    from workbench.bench.experiments.tune import TuningExperiment
    from workbench.bench.measuring.config import adopt_config
    from workbench.bench.measuring.grid import grid_for, mapping_values
    from workbench.bench.measuring.measurement import long_run_text
    from workbench.bench.records.charts import best_measurement, best_rate, equally_fast
    from workbench.catalog import load_catalog
    from workbench.emit.targets import export
    from workbench.engine.resources.machine import describe_machine
    from workbench.files import write_text
    from workbench.graph import dump_graph

    graph = options.graph
    wanted: DecodeDevice = options.device or graph.settings.device
    values = {
        "threads": threads,
        "batch_size": batch_sizes,
        "prefetch": prefetch,
        "hw_decoder_load": loads,
        "pipelines": pipelines,
        "executor": executors,
        "dont_use_mmap": files and mapping_values(ResolvedGraph(graph, load_catalog()), files),
    }
    grid = replace(
        grid_for(ResolvedGraph(graph, load_catalog()), describe_machine(), wanted),
        **cast(Any, {knob: value for knob, value in values.items() if value}),
    )
    limits = {
        "regime": regime,
        "host_limit": None if memory is None else int(memory * 2**30),
        "gpu_limit": None if gpu_memory is None else int(gpu_memory * 2**30),
    }
    if exhaustive and seconds:
        raise click.UsageError(
            "--seconds does not work with --exhaustive, which measures every setting. Remove one."
        )
    given: Any = (graph, options.data, wanted, grid)
    run = (
        SweepExperiment(*given, name=options.name, **cast(Any, limits))
        if exhaustive
        else TuningExperiment(*given, name=options.name, seconds=seconds, **cast(Any, limits))
    )
    report = run_with_bar(run)
    print_rows(report, [row for row in report.measurements if not row.probe])
    first = {row.reason: row for row in reversed(report.measurements) if row.probe and row.reason}
    for reason, row in first.items():
        click.echo(f"{row.config.settings}: {reason}")
    if "tune" in report.extra:
        tuning = report.extra["tune"]
        click.echo(
            f"{tuning['probes']} of {tuning['grid']} settings tried in {tuning['seconds']:.0f} s"
        )
        for words in (tuning.get("headroom"), tuning.get("stopped")):
            if words:
                click.echo(words)
    for knob in report.extra.get("sweep", {}).get("no_effect", ()):
        click.echo(describe_ineffective(knob))
    if "interrupted" in report.extra:
        tried = len({row.config for row in report.measurements})
        click.echo(f"interrupted: {tried} of {len(grid)} settings measured")
    options.write(report)
    best = best_measurement(report)
    own = unchanged_note(report, run.base, len(grid)) if best.config == run.base else ""
    rate, caution = best_rate(report, best)
    click.echo(f"best: {best.config.settings}: {rate}{long_run_text(best)}{own}")
    if caution:
        click.echo(f"caution: {caution}")
    if equal := equally_fast(report, best):
        click.echo(equal)
    tuned = adopt_config(graph, best.config)
    same = " (no setting was changed: same graph as the input)" if tuned == graph else ""
    if output:
        click.echo(f"{write_text(output, dump_graph(tuned))}{same}")
    if script:
        click.echo(f"{write_text(script, export(tuned).main.text)}{same}")


def unchanged_note(report: Report, base: Config, settings: int) -> str:
    """Return a note in parentheses with the reason why the graph's own setting is the best.

    ``settings`` is the number of settings of the grid.
    """
    others = [row for row in report.measurements if row.config != base]
    if any(row.rounds for row in others):
        tried = len({row.config for row in report.measurements if row.rounds})
        return f" (unchanged: no faster setting was found in {tried} of {settings})"
    what = "no other setting could be measured" if others else "no other setting was tried"
    return f" (unchanged: {what})"


# ``workbench optimise``: a faster graph with the same pixels.


def _names(_: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:
    """Parse comma-separated names of rewrites. --apply also accepts "all" and "exact"."""
    from workbench.graph.rewrites import find_rewrite
    from workbench.optimiser.result import ALL, EXACT

    names = tuple(part.strip() for part in text.split(",")) if text else ()
    for name in names:
        if option.name == "applied" and name in (ALL, EXACT):
            continue
        try:
            find_rewrite(name)
        except GraphEditError as error:
            raise click.BadParameter(str(error)) from None
    return names


@click.command()
@measure_options
@click.option(
    "--apply",
    "applied",
    metavar="NAMES",
    callback=_names,
    help="Rewrites to apply, comma-separated; or all, or exact (those whose output is identical).",
)
@click.option("--only", metavar="NAMES", callback=_names, help="Rewrites to try, comma-separated.")
@click.option(
    "--seconds",
    type=FiniteFloatRange(20),
    metavar="S",
    help="Time limit; the best result so far is used. Default: none.",
)
@click.option(
    "--for",
    "objective",
    type=click.Choice(["speed", "memory"]),
    default="speed",
    show_default=True,
    help="Find the highest speed, or the smallest peak memory.",
)
@OUTPUT
@SCRIPT
def optimise(
    options: MeasureOptions,
    applied: tuple[str, ...],
    only: tuple[str, ...],
    seconds: float | None,
    objective: Objective,
    output: str | None,
    script: str | None,
) -> None:
    """Search for the rewrites, and their order, that make a graph fastest.

    Exact rewrites produce identical output. Near rewrites differ slightly, with a PSNR of at least
    35 dB on your data. Results are shown while the search runs; Ctrl+C ends it. -o and --script
    write the graph with all proposed rewrites, or with those in --apply.

    Example:  workbench optimise slow.json --data photos -o fast.json
    """
    from workbench.emit.targets import export
    from workbench.files import write_text
    from workbench.graph import dump_graph
    from workbench.graph.edits.edit import set_setting
    from workbench.optimiser import OptimisationExperiment, optimisation_of

    graph = options.graph
    if options.device:
        graph = set_setting(graph, device=options.device)
    if script:
        export(graph).require_name(script)  # before anything is measured
    run = OptimisationExperiment(
        graph,
        options.data,
        only or None,
        seconds=seconds,
        objective=objective,
        name=options.name,
    )
    run.on_result = echo_above_bar
    report = run_with_bar(run)
    found = optimisation_of(graph, report)
    print_machine(report)
    for line in found.lines():
        click.echo(line)
    print_quality_flags(report.measurements)
    options.write(report, found.plot if objective == "memory" else None)
    if not (output or script or applied):
        return
    faster = found.apply(*applied)
    if applied:
        click.echo(f"applied: {', '.join(found.chosen(applied)) or 'nothing'}")
    same = " (no rewrite was applied: same graph as the input)" if faster == options.graph else ""
    if output:
        click.echo(f"{write_text(output, dump_graph(faster))}{same}")
    if script:
        click.echo(f"{export(faster).write(script)[0]}{same}")
