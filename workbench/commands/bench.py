"""``workbench bench``: CPU against mixed decoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from workbench.commands.measuring import (
    BUDGET,
    CACHE,
    JSON,
    NAME,
    PLOT,
    FiniteFloatRange,
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
    opened_on,
    refuse_overwriting_source,
    report_errors,
)
from workbench.graph.model import DecodeDevice
from workbench.graph.model.bounds import SETTINGS
from workbench.sources import Datasets

OPERATORS = "operators"
"""What the record of the operators is called, beside that of the whole graph."""

if TYPE_CHECKING:
    from workbench.bench.records.record import Report


@click.command()
@SOURCE
@DATA
@JSON
@click.option(
    "--device", type=click.Choice(["cpu", "mixed", "both"]), default="both", show_default=True
)
@click.option(
    "--regime",
    type=click.Choice(["decode", "pipeline", "both"]),
    default="both",
    show_default=True,
    help="Decoding alone, or all of the graph.",
)
@click.option("--batch-size", type=click.IntRange(1), help="Instead of the graph's.")
@click.option("--threads", type=click.IntRange(1), help="Instead of the graph's.")
@click.option(
    "--pipelines",
    type=click.IntRange(*SETTINGS["pipelines"]),
    help="Side by side, instead of the graph's.",
)
@click.option("--load", type=FiniteFloatRange(0, 1), help="hw_decoder_load of the decoders.")
@click.option(
    "--peers",
    is_flag=True,
    help="Also torchvision and Albumentations, which run the exported module.",
)
@click.option(
    "--peer",
    "chosen_peers",
    multiple=True,
    metavar="NAME",
    help="Also this one of them, by the beginning of its name (albu), or any other library: "
    "module:function, called with files, batch size and threads, returns batches. Repeatable.",
)
@click.option(
    "--each-operator",
    is_flag=True,
    help="Also what each operator costs by itself: a record of its own, FILE-operators.json.",
)
@BUDGET
@click.option(
    "--processes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Fresh processes for each: covers what differs from build to build.",
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
    """Measure imgs/s of the exported script with CPU and with mixed decoding.

    Example:  workbench bench imagenet-train --data photos --threads 8 --json speed.json
    """
    from dataclasses import replace

    from workbench.bench import Benchmark
    from workbench.bench.experiments.operators import OperatorExperiment, workers_of
    from workbench.bench.measuring.config import REGIMES, adopt_config, config_of
    from workbench.bench.measuring.interleaved import format_duration
    from workbench.bench.measuring.measurement_config import config_within
    from workbench.bench.peers import PEERS, peers_named
    from workbench.graph.edits.edit import set_setting

    refuse_overwriting_source(graph, record, picture)
    chosen = {"batch_size": batch_size, "num_threads": threads, "pipelines": pipelines}
    edited = set_setting(
        load_source_graph(graph), **{k: v for k, v in chosen.items() if v is not None}
    )
    if load is not None:
        edited = adopt_config(edited, replace(config_of(edited), hw_decoder_load=load))
    edited, datasets = opened_on(edited, data)
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
    if names or each_operator:
        most = sum(run.longest() or 0.0 for run in runs)
        click.echo(f"This takes {format_duration(most)} at most.", err=True)
    reports: list[Report] = []
    for run in runs:
        part = ""
        if isinstance(run, OperatorExperiment):
            part, run.workers = OPERATORS, workers_of(reports[0])
            click.echo("\nEach operator by itself")
        reports.append(report := run_with_bar(run))
        _print(report)
        write_record(report, beside(record, part), beside(picture, part))
        if "interrupted" in report.extra:
            return
    for report in reports:
        require_measured(report)


def beside(path: str | None, part: str) -> str | None:
    """The file of a part of a run beside that of the whole: ``speed-operators.json``."""
    if not path or not part:
        return path
    return str(Path(path).with_stem(f"{Path(path).stem}-{part}"))


def _print(report: Report) -> None:
    from workbench.bench.measuring.pixels import pixel_words
    from workbench.bench.records.operator_report import operator_lines, operators_of
    from workbench.bench.records.report_text import interrupted_words

    if costs := operators_of(report.extra):
        print_machine(report)
        for line in operator_lines(costs):
            click.echo(line)
        print_quality_flags(report.measurements)
    else:
        print_rows(report)
    for ratio in report.ratios:
        found = ratio.interval
        click.echo(
            f"{ratio.ours} / {ratio.theirs}: {found.median:.2f} "
            f"({found.low:.2f} to {found.high:.2f})"
        )
    for words in pixel_words(report.extra):
        click.echo(words)
    if words := interrupted_words(report):
        click.echo(words)
    if "command" in report.extra:
        click.echo(f"On a machine with a GPU: {report.extra['command']}")
        if "before" in report.extra:
            click.echo(report.extra["before"])
