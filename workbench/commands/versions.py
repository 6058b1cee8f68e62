"""``workbench render`` and ``workbench versions``: render, prove and list dataset versions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from workbench.commands.options import load_source_graph, parse_datasets, report_errors
from workbench.commands.options import open_graph_on_data as opened_on
from workbench.errors import ArgumentError
from workbench.sources import Datasets
from workbench.versions.formats import FORMATS


def _shares(_: click.Context, __: click.Parameter, value: str) -> tuple[float, ...]:
    from workbench.versions.plan import parse_shares

    try:
        return parse_shares(value)
    except ArgumentError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.argument("graph", required=False, default="")
@click.option(
    "--data", multiple=True, callback=parse_datasets, metavar="[NAME=]DIR", help="Data to render."
)
@click.option("-o", "--output", metavar="DIR", help="Folder of the new version.")
@click.option(
    "--copies", default=1, show_default=True, help="Copies with independent random values."
)
@click.option(
    "--format",
    "kind",
    default="folder",
    show_default=True,
    type=click.Choice(FORMATS),
    help="File format.",
)
@click.option(
    "--split",
    default="1",
    callback=_shares,
    metavar="SHARES",
    help="Shares of train, val and test, such as 0.8,0.1,0.1.",
)
@click.option(
    "--evaluation",
    default="",
    metavar="GRAPH",
    help="Graph of val and test. Default: GRAPH without randomness.",
)
@click.option("--originals", is_flag=True, help="Add the images as they were read.")
@click.option("--quality", type=int, help="Store JPEG of this quality, 1 to 100, instead of PNG.")
@click.option("--arrays", is_flag=True, help="Store images of other types than pictures as arrays.")
@click.option("--shard-size", type=int, help="Most samples per shard. Default: 1000 or more.")
@click.option("--workers", type=int, help="Processes. Default: one for two cores.")
@click.option("--ray", default="", metavar="ADDRESS", help="Run on Ray: auto, or an address.")
@click.option("--dry-run", is_flag=True, help="Print files, size and time, and write nothing.")
@click.option("--prove", "proved", metavar="DIR", help="Check a version instead of rendering.")
@click.option("--share", default=0.01, show_default=True, help="Share of the version to check.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --prove: print all differences as JSON."
)
@report_errors
def render(
    graph: str,
    data: Datasets,
    output: str | None,
    copies: int,
    kind: str,
    split: tuple[float, ...],
    evaluation: str,
    originals: bool,
    quality: int | None,
    arrays: bool,
    shard_size: int | None,
    workers: int | None,
    ray: str,
    dry_run: bool,
    proved: str | None,
    share: float,
    as_json: bool,
) -> None:
    r"""Render every sample with a graph, and write a dataset version to a new folder.

    After an interruption, the same command continues. `--prove DIR` compares the files of a version
    with its manifest and renders a share of it again; with GRAPH or --data, it compares these too.

    Example:  workbench render simclr --data photos -o versions/v1 --copies 3 --split 0.8,0.1,0.1
    """
    from workbench.engine.protocol.exit_status import printable
    from workbench.engine.protocol.progress import share_bar
    from workbench.versions.estimate import estimate_version
    from workbench.versions.planning import plan_version
    from workbench.versions.proof import prove
    from workbench.versions.render import render as render_version

    if proved is not None:
        if output or dry_run:
            raise click.UsageError("--prove checks a version. Omit -o and --dry-run.")
        source = load_source_graph(graph) if graph else None
        with share_bar() as on_progress:
            proof = prove(
                proved,
                share=share,
                graph=source,
                data=data or None,
                workers=workers,
                trust=click.get_current_context().find_root().obj is True,
                on_progress=on_progress,
            )
        if as_json:
            values = {**asdict(proof), "path": str(proof.path), "proven": proof.proven}
            click.echo(json.dumps(values, indent=1))
        else:
            click.echo("\n".join(map(printable, proof.lines())))
        if not proof.proven:
            raise SystemExit(1)
        return
    if as_json:
        raise click.UsageError("--json prints the result of --prove. Pass --prove DIR, too.")
    if not graph or not (output or dry_run):
        raise click.UsageError(
            "Pass GRAPH and -o DIR to render, or --prove DIR to check a version."
        )
    opened, datasets = opened_on(load_source_graph(graph), data)
    other = opened_on(load_source_graph(evaluation), data)[0] if evaluation else None
    if dry_run:
        plan, samples, found = plan_version(
            opened,
            datasets,
            copies=copies,
            format=kind,
            split=split,
            originals=originals,
            quality=quality,
            arrays=arrays,
            shard_size=shard_size,
            evaluation=other,
        )
        for line in (*estimate_version(plan, samples, found, workers).lines(), *plan.notes):
            click.echo(printable(line))
        return
    assert output
    try:
        with share_bar() as on_progress:
            version = render_version(
                opened,
                output,
                datasets,
                copies=copies,
                format=kind,
                split=split,
                workers=workers,
                originals=originals,
                quality=quality,
                arrays=arrays,
                shard_size=shard_size,
                evaluation=other,
                ray=ray,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        raise click.ClickException("Interrupted. The same command continues.") from None
    for line in version.lines():
        click.echo(printable(line))


@click.command()
@click.argument("folder", default=".", metavar="[DIR]", type=click.Path(file_okay=False))
@click.option("--diff", nargs=2, metavar="A B", help="Compare two versions in DIR, or two folders.")
@click.option(
    "-o", "--output", metavar="PNG", help="With --diff: save pictures of the same samples."
)
@report_errors
def versions(folder: str, diff: tuple[str, str] | None, output: str | None) -> None:
    """List the dataset versions in a folder, or compare two of them.

    Example:  workbench versions versions --diff v1 v2 -o sheet.png
    """
    from workbench.engine.protocol.exit_status import printable
    from workbench.figures import render_figure
    from workbench.files import write_bytes
    from workbench.versions.manifest import find_unfinished, find_versions, open_version

    if diff is None and output:
        raise click.UsageError("-o saves pictures of two versions. Pass --diff A B, too.")
    if diff is None:
        found = find_versions(folder)
        lines = [line for version in found for line in version.lines()]
        lines += find_unfinished(folder)
        if not lines:
            lines = [f"There is no complete version in {Path(folder).absolute()}."]
    else:
        first, second = (open_version(_version_path(folder, name)) for name in diff)
        difference = first.diff(second)
        lines = difference.lines()
        if output:
            lines += ["", f"Saved {write_bytes(output, render_figure(difference.plot()))}"]
    for line in lines:
        click.echo(printable(line))


def _version_path(folder: str, name: str) -> Path:
    """Return the folder of a version: relative to ``folder``, or else to the working folder."""
    from workbench.versions.manifest import find_versions

    inside = Path(folder, name)
    there = Path(name), inside.with_name(f"{inside.name}.unfinished"), inside
    if not any(each.is_dir() for each in there):
        known = ", ".join(each.path.name for each in find_versions(folder)) or "none"
        raise ArgumentError(f"There is no version {name!r} in {folder}. Versions there: {known}.")
    return Path(name) if Path(name).is_dir() and not inside.is_dir() else inside
