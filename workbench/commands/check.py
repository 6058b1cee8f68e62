"""``workbench check``: find files that cannot or should not be used."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from workbench.commands.options import (
    existing_data,
    graph_warnings,
    load_source_graph,
    open_graph_on_data,
    parse_datasets,
    print_warnings,
    report_errors,
    require_filled,
    writable_file,
)
from workbench.errors import DataError
from workbench.graph.model.faults import Fault, Faults
from workbench.sources import PARAMETER, Dataset, Datasets, load_source

if TYPE_CHECKING:
    from workbench.health import FolderCheck
    from workbench.health.memory import MemoryEstimate

_LINES = 50
MOST_DROPPED = 5
"""Maximum number of file names in the message of ``_dropped``."""


@click.command()
@click.argument("what", metavar="DIR|LIST|GRAPH")
@click.option(
    "--data",
    metavar="[NAME=]DIR|LIST",
    multiple=True,
    callback=parse_datasets,
    help="Data for GRAPH. Also prints the warnings about the graph with these data. If the graph "
    "has several parameters, repeat the option with the name of each.",
)
@click.option(
    "--recursive", is_flag=True, help="Check every data set in the folder DIR and its subfolders."
)
@click.option("--full", is_flag=True, help="Decode every file, as DALI does.")
@click.option(
    "--decoders",
    is_flag=True,
    help="Print which images the JPEG engines of a GPU decode, and why not the others.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the full result as JSON.")
@click.option(
    "--good",
    metavar="PATH",
    callback=writable_file,
    help="Write a file_list of the good files, or a folder if the data are records.",
)
@click.option(
    "--bad",
    metavar="FILE",
    callback=writable_file,
    help="Write the paths of the bad and damaged files.",
)
@click.option(
    "--html", metavar="FILE", callback=writable_file, help="Write an HTML report with thumbnails."
)
@click.option(
    "--again", is_flag=True, help="Also check files that have not changed since the last check."
)
@click.option(
    "--memory",
    is_flag=True,
    help="Also predict the memory of GRAPH for the typical and the worst batch, from the headers.",
)
@report_errors
def check(
    what: str,
    data: Mapping[str, Dataset],
    recursive: bool,
    full: bool,
    decoders: bool,
    as_json: bool,
    good: str | None,
    bad: str | None,
    html: str | None,
    again: bool,
    memory: bool,
) -> None:
    """Find files that are bad, damaged or unusual.

    Bad files are empty, truncated, not images, or not supported by DALI. Unusual files include
    duplicates. No file is changed. The exit code is 1 if a file is bad, because an
    exported program stops at the first bad file. Ctrl+C stops the check; run the command again to
    continue it.

    --good writes a file_list for DALI or, for records, a new folder of links and indices. Pass it
    to any command as --data, for example to export a program that reads it.

    With --data, the first argument is a graph file or a recipe. The data are then checked as the
    graph reads them, and the warnings about the graph are printed. They do not change the exit
    code.

    --memory predicts the peak memory of the exported script without running it, per node, for the
    typical and the worst batch. It names the largest images, and the changes that lower the peak.

    --recursive prints one line for each data set and a total. The exit code is also 1 if a data set
    cannot be read.

    --decoders reads the headers and prints the decoder of each format: JPEG engines, CUDA or the
    CPU. With a GPU, it also prints the time per image, and the time after storing the images as
    baseline JPEGs. --bad then writes the paths of the images that the JPEG engines do not decode.

    Example:  workbench check photos --full --good good.txt
    """
    from workbench.engine.protocol.exit_status import printable
    from workbench.files import write_bytes, write_text
    from workbench.health.check import html_report
    from workbench.sources import annotated_alternatives

    if decoders:
        if data or recursive or good or html or full or memory:
            raise click.UsageError(
                "--decoders cannot be combined with --data, --recursive, --full, --good, --html or "
                "--memory."
            )
        _print_decoders(existing_data(what), as_json, bad)
        return
    if recursive:
        if data or good or bad or html or memory:
            raise click.UsageError(
                "--recursive cannot be combined with --data, --good, --bad, --html or --memory. "
                "Check the data sets one by one."
            )
        _check_tree(what, full, as_json, again)
        return
    if memory and not data:
        raise click.UsageError("--memory requires a graph and --data.")
    warnings: Faults | None = None
    place: str | Dataset
    if not data:
        place = existing_data(what)
        require_filled(_as_dataset(place), "'DIR|LIST'")
    else:
        read, warnings = _read_by(what, data)
        if len(read) > 1:
            if good or bad or html or memory:
                raise click.UsageError(
                    f"{what} reads {len(read)} data sets, but --good, --bad, --html and --memory "
                    "are for one. Check each data set without the graph."
                )
            _check_each(read, warnings, full, as_json, again)
            return
        (place,) = read.values()
    found = check_with_bar(place, full, again)
    if good and not load_source(found.dataset.kind).lists_files:
        written = found.write_good(good)
        click.echo(f"Use --data {written} to read only the good ones.", err=True)
    elif good:
        write_bytes(good, found.good_list())
    if bad:
        write_bytes(bad, found.bad_list())
    if good and (dropped := found.unlistable):
        click.echo(_dropped(good, dropped), err=True)
    if html:
        write_text(html, html_report(found))
    predicted = _predict_memory(what, data, found.dataset) if memory else None
    if as_json:
        extra = {"memory": asdict(predicted)} if predicted else {}
        click.echo(json.dumps(_as_json(found, warnings) | extra, indent=1))
    else:
        click.echo("\n".join([_as_text(found), *(predicted.lines() if predicted else ())]))
    print_warnings(warnings or Faults())
    if predicted and predicted.shortage:
        click.echo(f"warning: {predicted.shortage}", err=True)
    for note in found.not_read:
        click.echo(f"note: {printable(note)}", err=True)
    if empty := load_source(found.dataset.kind).without_targets(found.dataset):
        images = "1 image has" if empty == 1 else f"{empty:,} images have"
        click.echo(
            f"note: {images} no annotation; skip_empty=True of the reader skips these", err=True
        )
    others = annotated_alternatives(found.dataset)
    for other in (each for each in others if load_source(each.kind).targets):
        click.echo(
            f"note: annotations were not checked: `workbench check {other.kind}:{other.location}` "
            f"reads the data as {load_source(other.kind).about}",
            err=True,
        )
    if found.bad:
        raise SystemExit(1)


def _print_decoders(data: str | Dataset, as_json: bool, others: str | None) -> None:
    from workbench.engine.protocol.exit_status import printable
    from workbench.files import write_text
    from workbench.health.decoders import decoder_coverage

    require_filled(_as_dataset(data), "'DIR|LIST'")
    found = decoder_coverage(data)
    if others:
        write_text(others, "".join(f"{name}\n" for name in found.others))
    if as_json:
        rows = [asdict(each) for each in found.uses]
        click.echo(json.dumps({"data": found.data, "gpu": found.gpu, "uses": rows}, indent=1))
    else:
        click.echo("\n".join(printable(line) for line in found.lines()))


def _predict_memory(source: str, data: Datasets, dataset: Dataset) -> MemoryEstimate:
    """Predict the memory of a graph that reads one dataset."""
    from workbench.catalog import load_catalog
    from workbench.graph.resolved import resolve
    from workbench.health.memory import estimate_memory

    graph, _ = open_graph_on_data(load_source_graph(source), _by_parameter(source, data))
    return estimate_memory(resolve(graph, load_catalog()), dataset)


def _check_tree(folder: str, full: bool, as_json: bool, again: bool) -> None:
    """Check all data sets in a folder tree. Raises SystemExit(1) if a file or data set is bad."""
    from workbench.engine.protocol.exit_status import printable
    from workbench.sources.trees import find_datasets

    if not os.path.isdir(folder):
        raise click.BadParameter(f"{folder} is not a folder.", param_hint="'DIR'")
    checked: dict[Dataset, FolderCheck | str] = {}
    for dataset in find_datasets(folder):
        place = printable(os.path.relpath(dataset.location, folder))
        try:
            checked[dataset] = found = check_with_bar(dataset, full, again)
        except DataError as error:
            checked[dataset] = str(error)
            click.echo(
                f"{place} ({dataset.kind}) cannot be read: {printable(str(error))}", err=as_json
            )
            continue
        first = f"; the first: {printable(found.bad[0].file)}" if found.bad else ""
        counts = _as_text(found).splitlines()[-1]
        click.echo(f"{place} ({dataset.kind}): {counts}{first}", err=as_json)
        for note in found.not_read:
            click.echo(f"note: {place}: {printable(note)}", err=True)
    if not checked:
        raise click.BadParameter(f"There is no data set in {folder}.", param_hint="'DIR'")
    read = [each for each in checked.values() if not isinstance(each, str)]
    bad = sum(len(each.bad) for each in read)
    lost = len(checked) - len(read)
    if as_json:
        rows = [
            {"data": place.location, "error": each}
            if isinstance(each, str)
            else _as_json(each, None)
            for place, each in checked.items()
        ]
        click.echo(json.dumps({"bad": bad, "unreadable": lost, "datasets": rows}, indent=1))
    else:
        total = sum(each.count for each in read)
        click.echo(
            f"{len(checked):,} data sets, {total:,} files: {bad:,} bad; data sets that cannot be "
            f"read: {lost:,}"
        )
    if bad or lost:
        raise SystemExit(1)


def _check_each(read: Datasets, warnings: Faults, full: bool, as_json: bool, again: bool) -> None:
    """Check the data of each parameter of a graph, and print all results."""
    found = {name: check_with_bar(dataset, full, again) for name, dataset in read.items()}
    if as_json:
        rows = [{"parameter": name, **_as_json(each, None)} for name, each in found.items()]
        listed = [_warning(each) for each in warnings]
        click.echo(json.dumps({"datasets": rows, "warnings": listed}, indent=1))
    else:
        for name, each in found.items():
            click.echo(f"{name}: {each.dataset}\n{_as_text(each)}")
    print_warnings(warnings)
    if any(each.bad for each in found.values()):
        raise SystemExit(1)


def _read_by(source: str, data: Datasets) -> tuple[Datasets, Faults]:
    """Return the data as the graph reads them, and the graph's warnings.

    Raises GraphFaultsError if the graph cannot run.
    """
    from workbench.catalog import load_catalog
    from workbench.graph.checks.check import require_sound
    from workbench.graph.execution.dataset_parameters import datasets_as_read

    opened, datasets = open_graph_on_data(load_source_graph(source), _by_parameter(source, data))
    require_sound(opened, load_catalog())
    read = datasets_as_read(opened, datasets)
    if not read:
        raise click.UsageError(
            f"{source} names its files itself. Check those files without the graph."
        )
    return read, graph_warnings(opened, read)


def _by_parameter(source: str, data: Datasets) -> Datasets:
    """Return data without a parameter name under the only parameter of a graph."""
    from workbench.graph.execution.dataset_parameters import parameters

    names = list(parameters(load_source_graph(source).nodes))
    return {names[0]: data[PARAMETER]} if len(names) == 1 and [*data] == [PARAMETER] else data


def _as_dataset(data: str | Dataset) -> Dataset:
    from workbench.sources import open_dataset

    return open_dataset(data)


def _dropped(good: str, names: Sequence[str]) -> str:
    """Return a message about good files with names that a ``file_list`` cannot contain."""
    named = ", ".join(map(repr, names[:MOST_DROPPED]))
    more = f" and {len(names) - MOST_DROPPED:,} more" if len(names) > MOST_DROPPED else ""
    count = "1 good file" if len(names) == 1 else f"{len(names):,} good files"
    return (
        f"{good} does not contain {count}, because a file_list cannot contain names with a line "
        f"break: {named}{more}. Rename them to use them."
    )


def check_with_bar(data: str | Dataset, full: bool = True, again: bool = False) -> FolderCheck:
    """Call ``check_folder`` with a progress bar on standard error."""
    from workbench.health import check_folder

    stopped = threading.Event()
    with click.progressbar(length=1, label="checking", file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = max(1, total)
            if done % 64 == 0 or done == total:
                bar.update(done - bar.pos)

        try:
            return check_folder(data, progress, stopped.is_set, full, again)
        except KeyboardInterrupt:
            raise click.ClickException(
                f"Stopped after {bar.pos:,} of {bar.length:,} files. Run the same command again to "
                "continue."
            ) from None


def _as_text(result: FolderCheck) -> str:
    from workbench.engine.protocol.exit_status import printable

    lines = []
    listed = [*result.bad, *result.of_level("damaged"), *result.of_level("unusual")]
    for one in listed[:_LINES]:
        lines += [
            f"{finding.level:8} {printable(one.file)}: {printable(finding.reason)}"
            for finding in one.findings
        ]
    if len(listed) > _LINES:
        lines.append(f"and {len(listed) - _LINES:,} more files; --json and --html list all of them")
    lines += [f"{count:8,} {kind}" for kind, count in result.counts.items()]
    all_decoded = result.decoded == result.count
    decoded = "decoded" if all_decoded else f"{result.decoded:,} decoded"
    how = decoded if result.full else "headers read; use --full to decode them"
    lines.append(
        f"{result.count:,} files ({how}): {len(result.bad):,} bad, "
        f"{len(result.of_level('damaged')):,} damaged, "
        f"{len(result.of_level('unusual')):,} unusual"
    )
    return "\n".join(lines)


def _as_json(result: FolderCheck, warnings: Faults | None) -> dict[str, Any]:
    return {
        "data": os.path.abspath(str(result.dataset)),
        "full": result.full,
        "count": result.count,
        "decoded": result.decoded,
        "bad": len(result.bad),
        "damaged": len(result.of_level("damaged")),
        "kinds": result.counts,
        "not_read": list(result.not_read),
        **({} if warnings is None else {"warnings": [_warning(each) for each in warnings]}),
        "files": [
            {
                "file": one.file,
                "level": one.level,
                "findings": [{"kind": f.kind, "reason": f.reason} for f in one.findings],
            }
            for one in result.files
        ],
    }


def _warning(warning: Fault) -> dict[str, str]:
    return {
        "node": warning.node,
        "argument": warning.arg,
        "code": warning.code,
        "message": warning.message,
        "remedy": warning.remedy,
    }
