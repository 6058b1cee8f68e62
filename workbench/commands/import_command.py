"""``workbench import``: convert a pipeline or a composition to a graph file."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.commands.options import (
    data_option,
    picture_file,
    refuse_overwriting_source,
    report_errors,
    require_filled,
    writable_file,
    write_figure,
)
from workbench.sources import Dataset

if TYPE_CHECKING:
    from workbench.emit.pipeline_import.graph import ImportedGraph


def _arguments(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        *outer, last = name.split(".")
        if not equals or not all(part.isidentifier() for part in (*outer, last)):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE. Use, for example, data=photos.")
        inner = found
        for part in outer:  # cfg.train.size=224
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise click.BadParameter(
                    f"{text!r}: another --arg already sets {part!r} to a value. Remove one of them."
                )
        try:
            inner[last] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner[last] = value
    return found


def _source(_: click.Context, __: click.Parameter, text: str) -> tuple[str, str | None]:
    """Split ``train.py:train_transform`` into the file and the name of the pipeline."""
    path, name = text, ""
    while not Path(path).exists() and ":" in path:
        path, _colon, last = path.rpartition(":")
        name = f"{last}:{name}" if name else last
    if Path(path).is_dir():
        raise click.BadParameter(f"{path!r} is a directory. Use a file.")
    if not Path(path).is_file():
        raise click.BadParameter(f"There is no file {text!r}. Use a script or notebook.")
    return path, name or None


@click.command("import")
@click.argument("source", metavar="SOURCE[:NAME]", callback=_source)
@click.option(
    "-o",
    "--output",
    metavar="GRAPH.json",
    callback=writable_file,
    help="Graph file to write. Optional with --compare.",
)
@click.option(
    "--pipeline",
    metavar="NAME",
    help="Name of the pipeline, if the source contains several; __main__ for the one that this "
    "section of a script runs.",
)
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_arguments,
    help="Argument for the function that creates the pipeline: a Python literal, else a string. "
    "cfg.size=224 sets one setting of cfg. Can be repeated. For a required argument that is not "
    "passed, the default of the script's own command-line option is used; without such an option, "
    "the import fails.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="Time limit of the script.",
)
@click.option(
    "--source",
    "data",
    metavar="PATH",
    help="Read these data instead of the source of the pipeline.",
)
@click.option(
    "--compare",
    is_flag=True,
    help="Also run each transform of a composition with its own library, if that is installed, and "
    "measure how far DALI's pixels differ.",
)
@data_option(
    "--data",
    "photos",
    metavar="DATA",
    help="Photos for --compare: a folder, or any other kind of data.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 256),
    default=8,
    show_default=True,
    help="Number of photos for --compare.",
)
@click.option(
    "--plot",
    metavar="PLOT.png",
    callback=picture_file,
    help="Image to write with --compare (.png or .svg): both results side by side.",
)
@report_errors
def import_command(
    source: tuple[str, str | None],
    output: str | None,
    pipeline: str | None,
    arguments: dict[str, Any],
    seconds: float,
    data: str | None,
    compare: bool,
    photos: str | Dataset | None,
    samples: int,
    plot: str | None,
) -> None:
    """Convert a DALI pipeline or a composition to a graph.

    The report lists everything that differs from the source.

    SOURCE is a script (.py) or notebook (.ipynb), which is RUN except for its __main__ section, or
    a pipeline serialized by DALI (.dali). In a script without DALI, a composition of torchvision,
    Albumentations, Kornia or timm is imported; the library need not be installed. A .yaml or .json
    file is a composition saved by Albumentations.

    A program exported by the workbench contains its graph in a comment at its end. If its code is
    unchanged, the graph is read from there and NOTHING IS RUN. The report states this.

    Example:  workbench import train.py:train_transform -o train.json
    """
    from workbench.engine.importing import from_file
    from workbench.files import write_text
    from workbench.graph.storage.layout import dump_document
    from workbench.sources import open_dataset

    path, name = source
    if compare and photos is None:
        raise click.MissingParameter(
            "--compare needs photos: add --data FOLDER.",
            param_hint="'--data'",
            param_type="option",
        )
    for option, given in {"--data": photos, "--plot": plot}.items():
        if given is not None and not compare:
            raise click.BadParameter(
                "this option works only with --compare. Add --compare.", param_hint=f"'{option}'"
            )
    if output is None and not compare:
        raise click.MissingParameter(param_hint="'-o' / '--output'", param_type="option")
    refuse_overwriting_source(path, output, plot)
    if photos is not None:
        require_filled(open_dataset(photos))
    imported = from_file(path, pipeline or name, arguments, seconds, data)
    if output:
        click.echo(write_text(output, dump_document(imported.document)))
    for line in imported.report.lines():
        click.echo(line)
    if photos is not None:
        _compare(imported, photos, samples, plot)


def _compare(
    imported: ImportedGraph, photos: str | Dataset, samples: int, plot: str | None
) -> None:
    from workbench.engine.protocol.exit_status import printable
    from workbench.pipeline_difference import compare_transforms

    found = compare_transforms(imported, photos, samples)
    for line in found.lines():
        click.echo(printable(line))
    if plot and found.compared:
        click.echo(write_figure(found.plot(), plot))
    elif plot:
        click.echo(f"{plot} was not written: nothing could be compared.", err=True)
