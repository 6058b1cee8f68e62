"""``workbench scale``: more threads, pipelines, processes, GPUs."""

from __future__ import annotations

from typing import Any, cast

import click

from workbench.commands.measuring import (
    BUDGET,
    FiniteFloatRange,
    MeasureOptions,
    ascending_numbers,
    measure_options,
    print_rows,
    require_measured,
    run_with_bar,
)
from workbench.graph.model.bounds import FILES, SETTINGS
from workbench.graph.resolved import ResolvedGraph


@click.command()
@measure_options
@click.option(
    "--threads",
    callback=ascending_numbers(int, SETTINGS["num_threads"][1]),
    help="Threads of one process, for example 1,2,4; with another of these the threads of each: 2.",
)
@click.option(
    "--pipelines",
    callback=ascending_numbers(int, SETTINGS["pipelines"][1]),
    help="Pipelines side by side in one process: 1,2,3; with --gpus or --processes in each.",
)
@click.option(
    "--processes",
    callback=ascending_numbers(int),
    help="Processes that decode on the CPU, with a shard of the data each: 1,2,4.",
)
@click.option(
    "--gpus",
    callback=ascending_numbers(int),
    help="GPUs that decode, with a process and a shard of the data each: 1,2,4.",
)
@click.option(
    "--affinity",
    type=click.Choice(["none", "split"]),
    default="none",
    show_default=True,
    help="Cores of each process: all, or a share of its own.",
)
@click.option(
    "--batch-size", type=click.IntRange(*SETTINGS["batch_size"]), help="Instead of the graph's."
)
@click.option(
    "--prefetch",
    type=click.IntRange(*SETTINGS["prefetch_queue_depth"]),
    help="Instead of the graph's.",
)
@click.option("--load", type=FiniteFloatRange(0, 1), help="hw_decoder_load of the decoders.")
@click.option(
    "--files",
    type=click.Choice(FILES),
    help="Mapped into memory, or read: dont_use_mmap of the readers.",
)
@BUDGET
def scale(
    options: MeasureOptions,
    threads: tuple[int, ...] | None,
    pipelines: tuple[int, ...] | None,
    processes: tuple[int, ...] | None,
    gpus: tuple[int, ...] | None,
    affinity: str,
    batch_size: int | None,
    prefetch: int | None,
    load: float | None,
    files: str | None,
    budget: float,
) -> None:
    """Measure how speed grows with threads, pipelines, processes or GPUs.

    GPUs and processes also by the pipelines of each: --gpus 1,2 --pipelines 1,2 --threads 2.

    Example:  workbench scale imagenet-train --data photos --threads 1,2,4
    """
    from dataclasses import replace

    from workbench.bench.analysis.grid import mapping_values
    from workbench.bench.experiments.scaling import (
        GpuScalingExperiment,
        PipelineScalingExperiment,
        ProcessScalingExperiment,
        ThreadScalingExperiment,
    )
    from workbench.bench.measuring.config import adopt_config, config_of
    from workbench.bench.measuring.measurement import rate_words
    from workbench.bench.measuring.measurement_config import config_within
    from workbench.bench.records.charts import Over, scaling_series
    from workbench.bench.records.report_text import interrupted_words
    from workbench.catalog import load_catalog

    workers = gpus or processes
    if gpus and processes:
        raise click.UsageError("Give one of --gpus and --processes.")
    if workers and options.device == ("cpu" if gpus else "mixed"):
        raise click.UsageError("--gpus decode with GPUs, --processes without: leave --device out.")
    if threads and len(threads) > 1 and (workers or pipelines):
        raise click.UsageError(
            f"--threads {','.join(map(str, threads))}: with --pipelines, --processes or --gpus "
            "give one number, the threads of each pipeline."
        )
    given: dict[str, Any] = {
        "batch_size": batch_size,
        "threads": threads[0] if threads and len(threads) == 1 else None,
        "prefetch": prefetch,
        "hw_decoder_load": load,
    }
    if files:
        (given["dont_use_mmap"],) = mapping_values(
            ResolvedGraph(options.graph, load_catalog()), [files]
        )
    known = {knob: value for knob, value in given.items() if value is not None}
    graph = adopt_config(options.graph, replace(config_of(options.graph), **cast(Any, known)))
    over: Over = "workers" if workers else "pipelines" if pipelines else "threads"
    shared: Any = {
        "measurement_config": config_within(budget),
        "name": options.name,
    }
    run: ProcessScalingExperiment | ThreadScalingExperiment
    if workers:
        experiment = GpuScalingExperiment if gpus else ProcessScalingExperiment
        run = experiment(
            graph, options.data, workers, pipelines or (), affinity=cast(Any, affinity), **shared
        )
    elif pipelines:
        run = PipelineScalingExperiment(graph, options.data, pipelines, options.device, **shared)
    else:
        run = ThreadScalingExperiment(graph, options.data, threads or (), options.device, **shared)
    report = run_with_bar(run)
    print_rows(report)
    one, several = {
        "threads": ("thread", "threads"),
        "pipelines": ("pipeline", "pipelines"),
        "workers": ("GPU", "GPUs") if gpus else ("process", "processes"),
    }[over]
    series = scaling_series(report.measurements, over)
    for point in (point for same in series for point in same if point.row.rounds):
        what = several if point.count != 1 else one
        if pipelines and workers:
            number = point.row.config.pipelines
            what += f" of {number} pipeline{'s' * (number != 1)}"
        click.echo(
            f"{point.count:4} {what}: {rate_words(point.row.rate, report.frames)}, "
            f"{point.speedup:.2f} times, efficiency {point.efficiency:.0%}"
        )
    if words := interrupted_words(report):
        click.echo(words)
    options.keep(report)
    require_measured(report)
