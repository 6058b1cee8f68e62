"""The speed lab from a shell: bench, stages, tune, scale, compare, records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from workbench.commands.options import DATA, SOURCE, file, graph_of, reports
from workbench.graph.model import DecodeDevice

if TYPE_CHECKING:
    from workbench.bench.measurement import Measurement
    from workbench.bench.record import Report

Progress = Callable[[float, str], None]


def _numbers(kind: type[int] | type[float]) -> Callable[..., tuple[float, ...] | None]:
    """A callback that reads numbers in rising order, with commas between: 1,2,4."""

    def read(_: click.Context, __: click.Parameter, text: str | None) -> tuple[float, ...] | None:
        if text is None:
            return None
        try:
            found = tuple(kind(part) for part in text.split(","))
        except ValueError:
            found = ()
        if not found or list(found) != sorted(set(found)) or found[0] < (kind is int):
            raise click.BadParameter(f"{text!r} is no rising list of numbers such as 1,2,4.")
        return found

    return read


def _picture(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and Path(value).suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{value} ends in neither .png nor .svg.")
    return value


JSON = click.option("--json", "record", metavar="FILE", callback=file, help="Also write a record.")
PLOT = click.option(
    "--plot", "picture", metavar="FILE", callback=_picture, help="Also draw it: .png or .svg."
)
CACHE = click.option(
    "--cache",
    type=click.Choice(["warm", "cold", "as found"]),
    default="warm",
    show_default=True,
    help="Whether the files are in memory.",
)
NAME = click.option("--name", default="", help="What to call the record.")
ONE_DEVICE = click.option(
    "--device", type=click.Choice(["cpu", "mixed"]), help="Instead of the graph's."
)


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
@click.option("--load", type=click.FloatRange(0, 1), help="hw_decoder_load of the decoders.")
@click.option("--peers", is_flag=True, help="Also torchvision and OpenCV at the same work.")
@click.option(
    "--budget",
    type=click.FloatRange(0),
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
@reports
def bench(
    graph: str,
    data: str,
    record: str | None,
    device: str,
    regime: str,
    batch_size: int | None,
    threads: int | None,
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

    from workbench.bench import Bench
    from workbench.bench.config import REGIMES, config_of
    from workbench.bench.method import Method
    from workbench.bench.peers import PEERS
    from workbench.bench.tune import adopt
    from workbench.graph.edit import set_setting

    chosen = {"batch_size": batch_size, "num_threads": threads}
    edited = set_setting(graph_of(graph), **{k: v for k, v in chosen.items() if v is not None})
    if load is not None:
        edited = adopt(edited, replace(config_of(edited), hw_decoder_load=load))
    devices = cast("tuple[DecodeDevice, ...]", ("cpu", "mixed") if device == "both" else (device,))
    run = Bench(
        edited,
        data,
        devices,
        REGIMES if regime == "both" else tuple(r for r in REGIMES if r == regime),
        method=Method(budget=budget, processes=processes),
        cache=cast(Any, cache),
        name=name,
        peers=tuple(PEERS) if peers else (),
    )
    with _progress() as progress:
        report = run.run(progress)
    _show(report)
    for ratio in report.ratios:
        found = ratio.interval
        click.echo(
            f"{ratio.ours} / {ratio.theirs}: {found.median:.2f} "
            f"({found.low:.2f} to {found.high:.2f})"
        )
    _differences(report)
    if "command" in report.extra:
        click.echo(f"On a machine with a GPU: {report.extra['command']}")
    _keep(report, record, picture)
    _require_figures(report)


def _differences(report: Report) -> None:
    found = {"mixed decoding": report.extra.get("decoders")}
    for name, peer in report.extra.get("peers", {}).items():
        found[name] = peer["difference"]
    for name, pixels in found.items():
        if pixels and "mean" in pixels:
            click.echo(
                f"pixels of {name} against DALI on the CPU: {pixels['mean']:.3f} apart on average, "
                f"{pixels['greatest']:.1f} at most, over {pixels['images']} images"
            )


@click.command()
@SOURCE
@DATA
@ONE_DEVICE
@JSON
@NAME
@PLOT
@reports
def stages(
    graph: str, data: str, device: str | None, record: str | None, name: str, picture: str | None
) -> None:
    """Say where the time goes: read, decode, each operator, copy to the host; and the ceiling.

    Example:  workbench stages rotate-jitter --data photos --plot stages.png
    """
    from workbench.bench.method import QUICK
    from workbench.bench.stages import Stages, stages_of
    from workbench.graph.edit import set_setting

    edited = graph_of(graph)
    if device:
        edited = set_setting(edited, device=device)
    with _progress() as progress:
        report = Stages(edited, data, method=QUICK, name=name).run(progress)
    found = stages_of(report.extra)
    assert found is not None
    _head(report)
    click.echo(f"{'stage':24}{'where':8}{'adds':>10}{'alone':>10}   ms a batch")
    for stage in found.stages:
        adds = "-" if stage.adds is None else f"{stage.adds:.2f}"
        alone = "-" if stage.alone is None else f"{stage.alone:.2f}"
        click.echo(f"{stage.stage:24}{stage.device:8}{adds:>10}{alone:>10}")
    rest = "-" if found.remainder is None else f"{found.remainder:+.2f}"
    click.echo(f"{'whole, and remainder':32}{found.total:>10.2f}{rest:>10}")
    if found.ceiling is not None:
        click.echo(f"ceiling with the decoded batch cached: {found.ceiling:,.0f} imgs/s")
    click.echo(found.advice)
    _keep(report, record, picture)


@click.command()
@SOURCE
@DATA
@ONE_DEVICE
@click.option("--threads", callback=_numbers(int), help="Values to try, for example 2,4,8.")
@click.option("--batch-sizes", callback=_numbers(int), help="Values to try.")
@click.option("--prefetch", callback=_numbers(int), help="Values to try.")
@click.option("--loads", callback=_numbers(float), help="Values of hw_decoder_load to try.")
@click.option(
    "--regime",
    type=click.Choice(["decode", "pipeline"]),
    default="pipeline",
    show_default=True,
    help="What is to be fast.",
)
@click.option("--exhaustive", is_flag=True, help="Measure all of them: four times as long.")
@click.option("--memory", type=click.FloatRange(0), metavar="GIB", help="Most host memory.")
@click.option("--gpu-memory", type=click.FloatRange(0), metavar="GIB", help="Most GPU memory.")
@click.option("-o", "--output", metavar="GRAPH.json", callback=file, help="The graph, so set.")
@click.option("--script", metavar="pipe.py", callback=file, help="Its script.")
@JSON
@NAME
@PLOT
@reports
def tune(
    graph: str,
    data: str,
    device: str | None,
    threads: tuple[int, ...] | None,
    batch_sizes: tuple[int, ...] | None,
    prefetch: tuple[int, ...] | None,
    loads: tuple[float, ...] | None,
    regime: str,
    exhaustive: bool,
    memory: float | None,
    gpu_memory: float | None,
    output: str | None,
    script: str | None,
    record: str | None,
    name: str,
    picture: str | None,
) -> None:
    """Find the fastest threads, batch, prefetch and hw_decoder_load, and write them down.

    Example:  workbench tune imagenet-train --data photos -o tuned.json --script pipe.py
    """
    from dataclasses import replace

    from workbench.bench.grid import usual_grid
    from workbench.bench.tune import Sweep, Tune, adopt, best_of
    from workbench.catalog import load_catalog
    from workbench.emit import emit_script
    from workbench.engine.machine import describe_machine
    from workbench.files import write_text
    from workbench.graph import dump_graph

    edited = graph_of(graph)
    wanted = cast(DecodeDevice, device or edited.settings.device)
    values = {
        "threads": threads,
        "batch_size": batch_sizes,
        "prefetch": prefetch,
        "hw_decoder_load": loads,
    }
    grid = replace(
        usual_grid(describe_machine(), wanted),
        **cast(Any, {knob: value for knob, value in values.items() if value}),
    )
    options = {
        "regime": regime,
        "host_limit": None if memory is None else int(memory * 2**30),
        "gpu_limit": None if gpu_memory is None else int(gpu_memory * 2**30),
    }
    kind = Sweep if exhaustive else Tune
    with _progress() as progress:
        report = kind(edited, data, wanted, grid, name=name, **cast(Any, options)).run(progress)
    _show(report, [row for row in report.measurements if not row.label.startswith("probe")])
    if "tune" in report.extra:
        told = report.extra["tune"]
        click.echo(f"{told['probes']} of {told['grid']} settings tried, {told['seconds']:.0f} s")
    for knob in report.extra.get("sweep", {}).get("no_effect", ()):
        click.echo(f"{knob} took no effect: every value of it can be as fast as any other")
    _keep(report, record, picture)
    best = best_of(report)
    click.echo(f"best: {best.config.settings}: {best.median:,.0f} imgs/s")
    tuned = adopt(edited, best.config)
    if output:
        click.echo(write_text(output, dump_graph(tuned)))
    if script:
        click.echo(write_text(script, emit_script(tuned, load_catalog()).text))


@click.command()
@SOURCE
@DATA
@ONE_DEVICE
@click.option(
    "--threads", callback=_numbers(int), help="Threads of one process, for example 1,2,4."
)
@click.option("--gpus", callback=_numbers(int), help="GPUs, one process each: 1,2,4.")
@click.option(
    "--affinity",
    type=click.Choice(["none", "split"]),
    default="none",
    show_default=True,
    help="Cores of each process: all, or a share of its own.",
)
@JSON
@NAME
@PLOT
@reports
def scale(
    graph: str,
    data: str,
    device: str | None,
    threads: tuple[int, ...] | None,
    gpus: tuple[int, ...] | None,
    affinity: str,
    record: str | None,
    name: str,
    picture: str | None,
) -> None:
    """Measure how speed grows with threads, or with GPUs that have a shard of the data each.

    Example:  workbench scale imagenet-train --data photos --threads 1,2,4
    """
    from workbench.bench.scaling import GpuScaling, Over, ThreadScaling, curve

    if threads and gpus:
        raise click.UsageError("Give --threads or --gpus, not both.")
    run: GpuScaling | ThreadScaling
    wanted = cast("DecodeDevice | None", device)
    edited = graph_of(graph)
    over: Over = "workers" if gpus else "threads"
    if gpus:
        run = GpuScaling(edited, data, gpus, wanted, affinity=cast(Any, affinity), name=name)
    else:
        run = ThreadScaling(edited, data, threads or (), wanted, name=name)
    with _progress() as progress:
        report = run.run(progress)
    _show(report)
    for point in curve(report.measurements, over):
        click.echo(
            f"{point.count:4} {over}: {point.imgs_per_s:,.0f} imgs/s, {point.speedup:.2f} times, "
            f"efficiency {point.efficiency:.0%}"
        )
    _keep(report, record, picture)
    _require_figures(report)


@click.command()
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@reports
def compare(first: str, second: str) -> None:
    """Compare two records: the second over the first, with the interval of each ratio.

    Example:  workbench compare before.json after.json
    """
    from workbench.bench.compare import compare_reports, read_report

    found = compare_reports(read_report(first), read_report(second))
    for warning in found.warnings:
        click.echo(f"note: {warning}", err=True)
    for pair in found.pairs:
        click.echo(
            f"{pair.name:32}{pair.first.median:>10,.0f} -> {pair.second.median:>10,.0f} imgs/s, "
            f"{pair.ratio.median:.3f} times ({pair.ratio.low:.3f} to {pair.ratio.high:.3f}): "
            f"{pair.verdict}"
        )
        if pair.differs:
            click.echo(f"{'':32}{'; '.join(pair.differs)}")
    for where, names in ((first, found.only_first), (second, found.only_second)):
        for name in names:
            click.echo(f"{name:32}only in {where}")
    if not found.pairs:
        raise click.ClickException("The two records have no measured configuration in common.")


@click.command()
@click.argument("path", metavar="DIR|FILE.json")
@click.option("--csv", "table", metavar="FILE", callback=file, help="Write all rows as CSV.")
@click.option("--plots", metavar="DIR", help="Draw each record into this folder.")
@click.option("--format", "kind", type=click.Choice(["svg", "png"]), default="svg")
@click.option("--name", help="Give the record in FILE.json another name.")
@reports
def records(path: str, table: str | None, plots: str | None, kind: str, name: str | None) -> None:
    """List records; export them as CSV, draw them, name one.

    Example:  workbench records assets/benchmarks --plots assets/benchmarks --csv speed.csv
    """
    from dataclasses import replace

    from workbench.bench.compare import read_folder, read_report
    from workbench.bench.record import dump_report, to_csv
    from workbench.files import write_text

    if Path(path).is_dir():
        if name is not None:
            raise click.UsageError("--name is for one record: give its file, not a folder.")
        found, refused = read_folder(path)
        for reason in refused:
            click.echo(f"left out: {reason}", err=True)
    else:
        report = read_report(path)
        if name is not None:
            report = replace(report, name=name)
            write_text(path, dump_report(report))
        found = {Path(path).stem: report}
    for stem, report in found.items():
        best = max((row.median or 0.0 for row in report.measurements), default=0.0)
        click.echo(
            f"{stem:32}{report.created[:16]:18}{report.kind:9}{report.graph:18}{best:>10,.0f} "
            f"imgs/s at best  {report.name}"
        )
        if plots is not None:
            Path(plots).mkdir(parents=True, exist_ok=True)
            _draw(report, str(Path(plots, f"{stem}.{kind}")))
    if table:
        write_text(table, to_csv(found))


COMMANDS = (bench, stages, tune, scale, compare, records)


@contextmanager
def _progress() -> Iterator[Progress]:
    with click.progressbar(length=1000, label="measuring", file=sys.stderr, show_eta=False) as bar:

        def progress(share: float, text: str) -> None:
            bar.label = text
            bar.update(int(share * 1000) - bar.pos)

        yield progress


def _head(report: Report) -> None:
    machine = report.machine
    click.echo(
        f"{machine.cpu}, {machine.cores} cores; {machine.gpu or 'no GPU'}; DALI {machine.dali}"
    )
    cache = report.cache
    if cache is not None:
        there = "" if cache.resident is None else f"; {cache.resident:.0%} in memory"
        click.echo(f"{report.files} files, page cache {cache.state} ({cache.how}{there})")


def _show(report: Report, rows: Sequence[Measurement] | None = None) -> None:
    _head(report)
    for row in report.measurements if rows is None else rows:
        found = row.interval
        if found is None:
            click.echo(f"{row.name:34}{row.reason}")
            continue
        click.echo(
            f"{row.name:34}{found.median:,.0f} imgs/s ({found.low:,.0f} to {found.high:,.0f} at "
            f"{found.level:.0%}; {row.config.settings}; {len(row.rounds)} rounds, "
            f"{'precise enough' if row.ending == 'precise' else 'time was up'})"
        )
        for words in (*row.flags, *row.notes):
            click.echo(f"{'':34}{words}")


def _keep(report: Report, record: str | None, picture: str | None) -> None:
    from workbench.bench.record import dump_report
    from workbench.files import write_text

    if record:
        write_text(record, dump_report(report))
    if picture and any(row.rounds for row in report.measurements):
        _draw(report, picture)


def _draw(report: Report, picture: str) -> None:
    from workbench.bench.plots import plot, render
    from workbench.files import write_bytes

    kind: Any = Path(picture).suffix[1:].lower()
    write_bytes(picture, render(plot(report), kind))


def _require_figures(report: Report) -> None:
    if all(row.median is None for row in report.measurements):
        raise click.ClickException("Nothing could be measured; the reasons are above.")
