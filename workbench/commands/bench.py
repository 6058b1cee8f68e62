"""``workbench bench``, ``stages`` and ``scale``: measure throughput, stage times and scaling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from workbench.commands.measuring import (
    BUDGET,
    CACHE,
    JSON,
    LOAD,
    NAME,
    PLOT,
    MeasureOptions,
    ascending_numbers,
    measure_options,
    numbers_to_try,
    print_interrupted,
    print_machine,
    print_quality_flags,
    print_rows,
    require_measured,
    run_with_bar,
    write_record,
)
from workbench.commands.options import (
    DATA,
    SOURCE,
    load_source_graph,
    open_graph_on_data,
    refuse_overwriting_source,
    report_errors,
)
from workbench.graph.model import DecodeDevice
from workbench.graph.model.bounds import FILES, SETTINGS
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import Datasets

if TYPE_CHECKING:
    from workbench.bench.records.record import Report


# ``workbench bench``: CPU against mixed decoding.

OPERATORS = "operators"
"""Suffix in the file name of the record that contains the costs of single operators."""


@click.command()
@SOURCE
@DATA
@JSON
@click.option(
    "--device",
    type=click.Choice(["cpu", "mixed", "both"]),
    default="both",
    show_default=True,
    help="Where images are decoded.",
)
@click.option(
    "--regime",
    type=click.Choice(["decode", "pipeline", "both"]),
    default="both",
    show_default=True,
    help="Measure decoding alone, the whole pipeline, or both.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(*SETTINGS["batch_size"]),
    help="Overrides the batch size of the graph.",
)
@click.option(
    "--threads",
    type=click.IntRange(*SETTINGS["num_threads"]),
    help="Overrides the threads of the graph.",
)
@click.option(
    "--pipelines",
    type=click.IntRange(*SETTINGS["pipelines"]),
    help="Pipelines in one process. Overrides the number in the graph.",
)
@LOAD
@click.option(
    "--peers",
    is_flag=True,
    help="Also measure the graph exported to torchvision and to Albumentations.",
)
@click.option(
    "--peer",
    "chosen_peers",
    multiple=True,
    metavar="NAME",
    help="Also measure one library: torchvision or Albumentations (a prefix such as albu "
    "suffices), or any other library as module:function. The function receives files, batch size "
    "and threads, and yields batches. Can be repeated.",
)
@click.option(
    "--each-operator",
    is_flag=True,
    help="Also measure the cost of each operator, and write it to FILE-operators.json.",
)
@BUDGET
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Processes to start for each configuration. With several, the interval includes the "
    "variation between pipeline builds.",
)
@CACHE
@NAME
@PLOT
@report_errors
def bench(
    graph: str,
    data: Datasets,
    record: str | None,
    device: str,
    regime: str,
    batch_size: int | None,
    threads: int | None,
    pipelines: int | None,
    load: float | None,
    peers: bool,
    chosen_peers: tuple[str, ...],
    each_operator: bool,
    budget: float,
    processes: int,
    cache: str,
    name: str,
    picture: str | None,
) -> None:
    """Measure images per second with CPU and with mixed decoding.

    Runs the exported script, for decoding alone and for the whole pipeline.

    Example:  workbench bench imagenet-train --data photos --json speed.json
    """
    from dataclasses import replace

    from workbench.bench import Benchmark
    from workbench.bench.experiments.operators import OperatorExperiment, workers_of
    from workbench.bench.experiments.peers import PEERS, peers_named
    from workbench.bench.measuring.config import REGIMES, adopt_config, config_of
    from workbench.bench.measuring.interleaved import format_duration
    from workbench.bench.measuring.measurement_config import config_within
    from workbench.graph.edits.edit import set_setting

    refuse_overwriting_source(graph, record, picture)
    chosen = {"batch_size": batch_size, "num_threads": threads, "pipelines": pipelines}
    edited = set_setting(
        load_source_graph(graph), **{k: v for k, v in chosen.items() if v is not None}
    )
    if load is not None:
        edited = adopt_config(edited, replace(config_of(edited), hw_decoder_load=load))
    edited, datasets = open_graph_on_data(edited, data)
    devices = cast("tuple[DecodeDevice, ...]", ("cpu", "mixed") if device == "both" else (device,))
    names = peers_named((*(PEERS if peers else ()), *chosen_peers))
    options: dict[str, Any] = {
        "measurement_config": config_within(budget, processes),
        "cache": cache,
        "peers": names,
    }
    whole = Benchmark(
        edited,
        datasets,
        devices,
        tuple(each for each in REGIMES if regime in ("both", each)),
        name=name,
        **options,
    )
    runs: list[Benchmark | OperatorExperiment] = [whole]
    if each_operator:
        full = f"{name} {OPERATORS}" if name else ""
        runs.append(OperatorExperiment(edited, datasets, devices, name=full, **options))
        whole.is_bounded = True
    if names or each_operator:
        most = sum(run.longest() or 0.0 for run in runs)
        most_text = f"{format_duration(most)} after the files are read"
        click.echo(f"This takes at most {most_text}.", err=True)
    reports: list[Report] = []
    for run in runs:
        part = ""
        if isinstance(run, OperatorExperiment):
            part, run.workers = OPERATORS, workers_of(reports[0])
            click.echo("\nCost of each operator")
        reports.append(report := run_with_bar(run))
        _print(report)
        write_record(report, part_path(record, part), part_path(picture, part))
        if "interrupted" in report.extra:
            return
    for report in reports:
        require_measured(report)


def part_path(path: str | None, part: str) -> str | None:
    """Return the file name for a part of a run: ``speed-operators.json`` for ``speed.json``."""
    if not path or not part:
        return path
    return str(Path(path).with_stem(f"{Path(path).stem}-{part}"))


def _print(report: Report) -> None:
    from workbench.bench.measuring.pixels import pixel_sentences
    from workbench.bench.measuring.transfer import copied_text
    from workbench.bench.records.operator_report import operator_lines, operators_of
    from workbench.bench.records.report_text import faster_exports

    if costs := operators_of(report.extra):
        print_machine(report)
        for line in operator_lines(costs):
            click.echo(line)
        print_quality_flags(report.measurements)
    else:
        print_rows(report)
    for ratio in report.ratios:
        click.echo(f"{ratio.ours} / {ratio.theirs}: {ratio.interval.with_range}")
    for words in (*faster_exports(report), *pixel_sentences(report.extra)):
        click.echo(words)
    if words := copied_text(report.extra):
        click.echo(f"Copied to a GPU per batch: {words}")
    print_interrupted(report)
    if "command" in report.extra:
        click.echo(f"On a machine with a GPU: {report.extra['command']}")
        if "before" in report.extra:
            click.echo(report.extra["before"])


# ``workbench stages``: time per stage.


@click.command()
@measure_options
@click.option("--quick", is_flag=True, help="Fewer and shorter rounds: faster, but less precise.")
def stages(options: MeasureOptions, quick: bool) -> None:
    """Measure the time of each stage of the pipeline.

    The stages are reading, decoding, each operator, and the copy to the host. Also reports the
    bottleneck and the ceiling: the throughput with the decoded batch cached.

    Example:  workbench stages rotate-jitter --data photos --plot stages.png
    """
    from workbench.bench.experiments.stages import StageCostExperiment
    from workbench.bench.measuring.measurement_config import (
        COARSE_CONFIG,
        QUICK_CONFIG,
        low_precision_notice,
    )
    from workbench.bench.measuring.stats import three_digits
    from workbench.bench.records.charts import rate_of
    from workbench.bench.records.stage_report import CEILING, stages_of
    from workbench.graph.edits.edit import set_setting

    graph = set_setting(options.graph, device=options.device) if options.device else options.graph
    run = StageCostExperiment(
        graph,
        options.data,
        measurement_config=COARSE_CONFIG if quick else QUICK_CONFIG,
        name=options.name,
    )
    report = run_with_bar(run)
    found = stages_of(report.extra)
    assert found is not None
    print_machine(report)
    wide = max(24, *(len(stage.title) + 2 for stage in found.stages))
    click.echo(f"milliseconds per batch of {graph.settings.batch_size}:")

    def figure(value: float | None) -> str:
        return "-" if value is None else three_digits(value)

    apart = any(figure(stage.adds) != figure(stage.exclusive) for stage in found.stages)
    head = f"{'measured':>10}" if apart else ""
    click.echo(f"{'stage':{wide}}{'device':8}{'time':>10}{head}{'interval':>20}{'alone':>10}")

    for stage in found.stages:
        adds = figure(stage.adds) if stage.adds is None or stage.is_nonnegative else "n/m"
        spread = "-" if stage.low is None else f"{figure(stage.low)} to {figure(stage.high)}"
        measured = f"{adds:>10}" if apart else ""
        click.echo(
            f"{stage.title:{wide}}{stage.device:8}{figure(stage.exclusive):>10}{measured}"
            f"{spread:>20}{figure(stage.alone):>10}"
        )
    if any(stage.adds is not None and not stage.is_nonnegative for stage in found.stages):
        click.echo("n/m: not measurable (the difference is below zero)")
    if any(stage.adds is not None for stage in found.stages):  # else there is no total
        rest = f"{'+' * ((found.remainder or 0) > 0)}{figure(found.remainder)}"
        total = f"{figure(found.total):>10}{'':{30 if apart else 20}}{rest:>10}"
        click.echo(f"{'total, and remainder':{wide + 8}}{total}")
    if words := low_precision_notice(
        report.measurement_config, [row.interval for row in report.measurements if row.interval]
    ):
        click.echo(words)
    if ceiling := rate_of(report, CEILING):
        click.echo(f"ceiling with the decoded batch cached: {ceiling}")
    for words in filter(None, (*found.function_texts, found.advice, *found.path_texts)):
        click.echo(words)
    for row in report.measurements:
        if row.reason:
            click.echo(f"{row.name}: {row.reason}")
    print_quality_flags(report.measurements, with_uncertainty=False)
    options.finish(report)


# ``workbench scale``: threads, pipelines, processes, GPUs.


@click.command()
@measure_options
@numbers_to_try(
    "--threads",
    "num_threads",
    "Thread counts to measure, for example 1,2,4. With --pipelines, --processes or --gpus: one "
    "number, the threads of each pipeline.",
)
@numbers_to_try(
    "--pipelines",
    "pipelines",
    "Numbers of pipelines in one process, for example 1,2,3. With --gpus or --processes: in each "
    "process.",
)
@click.option(
    "--processes",
    metavar="N,...",
    callback=ascending_numbers(int),
    help="Numbers of processes that decode on the CPU, for example 1,2,4. Each reads a shard.",
)
@click.option(
    "--gpus",
    metavar="N,...",
    callback=ascending_numbers(int),
    help="Numbers of GPUs that decode, for example 1,2,4. Each has a process that reads a shard.",
)
@click.option(
    "--affinity",
    type=click.Choice(["none", "split"]),
    default="none",
    show_default=True,
    help="CPU cores of each process. none: all cores; split: separate cores.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(*SETTINGS["batch_size"]),
    help="Overrides the batch size of the graph.",
)
@click.option(
    "--prefetch",
    type=click.IntRange(*SETTINGS["prefetch_queue_depth"]),
    help="Overrides the prefetch depth of the graph.",
)
@LOAD
@click.option(
    "--files",
    type=click.Choice(FILES),
    help="How readers access files: mapped into memory, or read (dont_use_mmap).",
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
    """Measure scaling with threads, pipelines, processes or GPUs.

    GPUs and processes can be combined with pipelines: --gpus 1,2 --pipelines 1,2 --threads 2.

    Example:  workbench scale imagenet-train --data photos --threads 1,2,4
    """
    from dataclasses import replace

    from workbench.bench.experiments.scaling import (
        GpuScalingExperiment,
        PipelineScalingExperiment,
        ProcessScalingExperiment,
        ThreadScalingExperiment,
    )
    from workbench.bench.measuring.config import adopt_config, config_of
    from workbench.bench.measuring.grid import mapping_values
    from workbench.bench.measuring.measurement_config import config_within
    from workbench.bench.records.charts import Over, scaling_series
    from workbench.catalog import load_catalog

    workers = gpus or processes
    if gpus and processes:
        raise click.UsageError("--gpus and --processes cannot be combined. Use one of them.")
    if workers and options.device == ("cpu" if gpus else "mixed"):
        raise click.UsageError("--gpus decodes on GPUs and --processes on the CPU. Omit --device.")
    if threads and len(threads) > 1 and (workers or pipelines):
        raise click.UsageError(
            f"--threads is {','.join(map(str, threads))}. With --pipelines, --processes or --gpus, "
            "use a single number: the threads of each pipeline."
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
            f"{point.count:4} {what}: {point.row.rate_text}, speedup {point.speedup_text}, "
            f"efficiency {point.efficiency_text}"
        )
    options.finish(report)
