"""``workbench scale``: more threads, more GPUs."""

from __future__ import annotations

from typing import Any, cast

import click

from workbench.commands.measuring import (
    MeasureOptions,
    ascending_numbers,
    measure_options,
    print_rows,
    progress_bar,
    require_measured,
)
from workbench.graph.bounds import SETTINGS


@click.command()
@measure_options
@click.option(
    "--threads",
    callback=ascending_numbers(int, SETTINGS["num_threads"][1]),
    help="Threads of one process, for example 1,2,4.",
)
@click.option(
    "--pipelines",
    callback=ascending_numbers(int, SETTINGS["pipelines"][1]),
    help="Pipelines side by side in one process: 1,2,3.",
)
@click.option("--gpus", callback=ascending_numbers(int), help="GPUs, one process each: 1,2,4.")
@click.option(
    "--affinity",
    type=click.Choice(["none", "split"]),
    default="none",
    show_default=True,
    help="Cores of each process: all, or a share of its own.",
)
def scale(
    options: MeasureOptions,
    threads: tuple[int, ...] | None,
    pipelines: tuple[int, ...] | None,
    gpus: tuple[int, ...] | None,
    affinity: str,
) -> None:
    """Measure how speed grows with threads, pipelines, or GPUs with a shard of the data each.

    Example:  workbench scale imagenet-train --data photos --threads 1,2,4
    """
    from workbench.bench.rate import rate_words
    from workbench.bench.scaling import (
        GpuScalingExperiment,
        PipelineScalingExperiment,
        ThreadScalingExperiment,
    )
    from workbench.bench.summary import Over, speedup_curve

    if len([counts for counts in (threads, pipelines, gpus) if counts]) > 1:
        raise click.UsageError("Give one of --threads, --pipelines and --gpus.")
    run: GpuScalingExperiment | ThreadScalingExperiment
    graph, data, device, name = options.graph, options.data, options.device, options.name
    over: Over = "workers" if gpus else "pipelines" if pipelines else "threads"
    if gpus:
        run = GpuScalingExperiment(
            graph, data, gpus, device, affinity=cast(Any, affinity), name=name
        )
    elif pipelines:
        run = PipelineScalingExperiment(graph, data, pipelines, device, name=name)
    else:
        run = ThreadScalingExperiment(graph, data, threads or (), device, name=name)
    with progress_bar() as progress:
        report = run.run(progress)
    print_rows(report)
    what = {"threads": "thread", "pipelines": "pipeline", "workers": "process"}[over]
    for point in speedup_curve(report.measurements, over):
        ending = ("es" if gpus else "s") * (point.count != 1)
        click.echo(
            f"{point.count:4} {what}{ending}: {rate_words(point.imgs_per_s, report.frames)}, "
            f"{point.speedup:.2f} times, efficiency {point.efficiency:.0%}"
        )
    options.keep(report)
    require_measured(report)
