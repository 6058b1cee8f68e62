"""``workbench compare`` and ``workbench records``: work with existing records."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.commands.options import (
    RECORD,
    refuse_overwriting_source,
    report_errors,
    writable_file,
    write_figure,
)


@click.command()
@click.argument("first", metavar="A.json", type=RECORD)
@click.argument("second", metavar="B.json", type=RECORD)
@report_errors
def compare(first: str, second: str) -> None:
    """Compare two records of measurements.

    Prints the ratio of B to A for each configuration, with its confidence interval.

    Example:  workbench compare before.json after.json
    """
    from workbench.bench.measuring.measurement import rate_unit
    from workbench.bench.records.compare import compare_reports, read_report

    found = compare_reports(read_report(first), read_report(second))
    for warning in found.warnings:
        click.echo(f"note: {warning}", err=True)
    every = [*(pair.name for pair in found.pairs), *found.only_first, *found.only_second]
    wide = max([32, *(len(name) + 2 for name in every)])
    for pair in found.pairs:
        click.echo(
            f"{pair.name:{wide}}{pair.first.figure:>10} -> {pair.second.figure:>10} "
            f"{rate_unit(pair.second.config.frames)}, ratio {pair.ratio_text}: {pair.verdict}"
        )
        if pair.differs:
            click.echo(f"{'':{wide}}{'; '.join(pair.differs)}")
    for where, names in ((first, found.only_first), (second, found.only_second)):
        for name in names:
            click.echo(f"{name:{wide}}only in {where}")
    if not found.pairs:
        raise click.ClickException(
            "The records have no configuration in common. Compare records of the same measurement."
        )


@click.command()
@click.argument("path", metavar="DIR|FILE.json", type=click.Path(exists=True))
@click.option(
    "--csv", "table", metavar="FILE", callback=writable_file, help="Write all rows as CSV."
)
@click.option("--plots", metavar="DIR", help="Write a chart of each record to this folder.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png"]),
    default="svg",
    show_default=True,
    help="Format of the charts.",
)
@click.option("--name", help="Rename the record in FILE.json.")
@report_errors
def records(path: str, table: str | None, plots: str | None, kind: str, name: str | None) -> None:
    """List records, export them as CSV, plot them, or rename one.

    Example:  workbench records assets/benchmarks --plots plots --csv speed.csv
    """
    from dataclasses import replace

    from workbench.bench.measuring.measurement import rate_unit
    from workbench.bench.records.compare import read_folder, read_report
    from workbench.bench.records.record import dump_report
    from workbench.bench.records.report_text import to_csv
    from workbench.errors import EngineError, SaveError
    from workbench.files import write_text

    refuse_overwriting_source(path, table)
    if Path(path).is_dir():
        if name is not None:
            raise click.UsageError(
                "--name renames a single record. Pass its file instead of a folder."
            )
        found, refused = read_folder(path)
        for reason in refused:
            click.echo(f"skipped: {reason}", err=True)
    else:
        report = read_report(path)
        if name is not None:
            report = replace(report, name=name)
            write_text(path, dump_report(report))
        found = {Path(path).stem: report}
    if plots is not None:
        try:
            Path(plots).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SaveError(f"The folder {plots} cannot be created: {error.strerror}.") from None
    for stem, report in found.items():
        shown = ""
        if report.kind != "operators":
            best, unit = report.best_row, rate_unit(report.frames)
            shown = f"{best.figure:>10} {unit} (best)" if best else "  not measured"
        click.echo(
            f"{stem:32}{report.created[:16]:18}{report.kind:10}{report.graph:18}{shown:25}"
            f"{report.name}".rstrip()
        )
    if table:
        write_text(table, to_csv(found))
    if plots is None:
        return
    for stem, report in found.items():
        try:
            write_figure(report.plot(), str(Path(plots, f"{stem}.{kind}")))
        except EngineError as error:
            click.echo(f"no chart: {stem}: {error}", err=True)
