"""``workbench bench``: CPU against mixed decoding."""

from __future__ import annotations

from typing import Any, cast

import click

from workbench.commands.measuring import (
    CACHE,
    JSON,
    NAME,
    PLOT,
    FiniteFloatRange,
    print_rows,
    progress_bar,
    require_measured,
    write_record,
)
from workbench.commands.options import (
    DATA,
    SOURCE,
    datasets_of,
    load_source_graph,
    refuse_overwriting_source,
    report_errors,
)
from workbench.graph.bounds import SETTINGS
from workbench.graph.model import DecodeDevice
from workbench.sources import Datasets


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
@click.option("--peers", is_flag=True, help="Also torchvision and OpenCV at the same work.")
@click.option(
    "--budget",
    type=FiniteFloatRange(0),
    default=20.0,
    show_default=True,
    help="Seconds of timed rounds for each, at most.",
)
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
    from workbench.bench.config import REGIMES, config_of
    from workbench.bench.measurement_config import MeasurementConfig
    from workbench.bench.peers import PEERS
    from workbench.bench.pixels import pixel_words
    from workbench.bench.tune import adopt_config
    from workbench.graph.edit import set_setting

    refuse_overwriting_source(graph, record, picture)
    chosen = {"batch_size": batch_size, "num_threads": threads, "pipelines": pipelines}
    edited = set_setting(
        load_source_graph(graph), **{k: v for k, v in chosen.items() if v is not None}
    )
    if load is not None:
        edited = adopt_config(edited, replace(config_of(edited), hw_decoder_load=load))
    datasets = datasets_of(edited, data)
    devices = cast("tuple[DecodeDevice, ...]", ("cpu", "mixed") if device == "both" else (device,))
    run = Benchmark(
        edited,
        datasets,
        devices,
        REGIMES if regime == "both" else tuple(r for r in REGIMES if r == regime),
        measurement_config=MeasurementConfig(budget=budget, processes=processes),
        cache=cast(Any, cache),
        name=name,
        peers=tuple(PEERS) if peers else (),
    )
    with progress_bar() as progress:
        report = run.run(progress)
    print_rows(report)
    for ratio in report.ratios:
        found = ratio.interval
        click.echo(
            f"{ratio.ours} / {ratio.theirs}: {found.median:.2f} "
            f"({found.low:.2f} to {found.high:.2f})"
        )
    for words in pixel_words(report.extra):
        click.echo(words)
    if "command" in report.extra:
        click.echo(f"On a machine with a GPU: {report.extra['command']}")
        if "before" in report.extra:
            click.echo(report.extra["before"])
    write_record(report, record, picture)
    require_measured(report)
