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
    print_rows,
    progress_bar,
    require_measured,
    run_until_interrupt,
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
from workbench.graph.bounds import SETTINGS
from workbench.graph.model import DecodeDevice
from workbench.sources import Datasets

if TYPE_CHECKING:
    from workbench.bench.record import Report


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
    help="Also torchvision, OpenCV, Albumentations, Kornia, SPDL and tf.data at the same work.",
)
@click.option(
    "--each-operator",
    is_flag=True,
    help="Also each operator by itself, behind the decoder; records get the node's name.",
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
    from workbench.bench.config import REGIMES, adopt_config, config_of
    from workbench.bench.measurement_config import config_within
    from workbench.bench.peers import PEERS
    from workbench.bench.peers.operator_graphs import operator_graphs
    from workbench.catalog import load_catalog
    from workbench.graph.edit import set_setting

    refuse_overwriting_source(graph, record, picture)
    chosen = {"batch_size": batch_size, "num_threads": threads, "pipelines": pipelines}
    edited = set_setting(
        load_source_graph(graph), **{k: v for k, v in chosen.items() if v is not None}
    )
    if load is not None:
        edited = adopt_config(edited, replace(config_of(edited), hw_decoder_load=load))
    edited, datasets = opened_on(edited, data)
    devices = cast("tuple[DecodeDevice, ...]", ("cpu", "mixed") if device == "both" else (device,))
    graphs = {"": edited}
    if each_operator:
        graphs = {**graphs, **operator_graphs(edited, load_catalog())}
    reports = []
    for node, each in graphs.items():
        run = Benchmark(
            each,
            datasets,
            devices,
            ("pipeline",) if node else tuple(r for r in REGIMES if regime in ("both", r)),
            measurement_config=config_within(budget, processes),
            cache=cast(Any, cache),
            name=" ".join(filter(None, (name, node))),
            peers=tuple(PEERS) if peers else (),
        )
        with progress_bar() as progress:
            report = run_until_interrupt(run, progress)
        reports.append(report)
        if len(graphs) > 1:
            click.echo(f"\n{node or 'the whole graph'}")
        _print(report)
        write_record(report, beside(record, node), beside(picture, node))
        if "interrupted" in report.extra:
            break
    for report in reports:
        require_measured(report)


def beside(path: str | None, node: str) -> str | None:
    """The file of one operator beside that of the whole graph: ``speed-rotate.json``."""
    if not path or not node:
        return path
    return str(Path(path).with_stem(f"{Path(path).stem}-{node}"))


def _print(report: Report) -> None:
    from workbench.bench.pixels import pixel_words

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
