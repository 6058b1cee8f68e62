"""``workbench import``: a pipeline brought back as a graph file."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import click

from workbench.commands.options import refuse_overwriting_source, report_errors, writable_file


def _arguments(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        *outer, last = name.split(".")
        if not equals or not all(part.isidentifier() for part in (*outer, last)):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE, for example data=photos.")
        inner = found
        for part in outer:  # cfg.train.size=224
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise click.BadParameter(f"{text!r}: {part} has a value of its own already.")
        try:
            inner[last] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner[last] = value
    return found


def _source(_: click.Context, __: click.Parameter, text: str) -> tuple[str, str | None]:
    """The file, and the name behind it: ``train.py:train_transform``."""
    path, name = text, ""
    while not Path(path).exists() and ":" in path:
        path, _colon, last = path.rpartition(":")
        name = f"{last}:{name}" if name else last
    if Path(path).is_dir():
        raise click.BadParameter(f"{path!r} is a directory. Name a file.")
    if not Path(path).is_file():
        raise click.BadParameter(f"There is no file {text!r}.")
    return path, name or None


@click.command("import")
@click.argument("source", metavar="SOURCE[:NAME]", callback=_source)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="GRAPH.json",
    callback=writable_file,
    help="Graph file to write.",
)
@click.option("--pipeline", metavar="NAME", help="Which one, where the source has several.")
@click.option(
    "--arg",
    "arguments",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_arguments,
    help="Given to the function that makes it: a Python literal, or else a text; cfg.size=224 for "
    "a setting of cfg. Repeatable.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(1, 3600),
    default=60.0,
    show_default=True,
    help="How long a script may take.",
)
@click.option(
    "--source",
    "data",
    metavar="PATH",
    help="Read your photos, or other data, in the place of what feeds the pipeline.",
)
@report_errors
def import_command(
    source: tuple[str, str | None],
    output: str,
    pipeline: str | None,
    arguments: dict[str, Any],
    seconds: float,
    data: str | None,
) -> None:
    """Bring a DALI pipeline back as a graph, and report what did not come across as it was.

    SOURCE is a script (.py) or notebook (.ipynb), which is RUN but for what stands under __main__,
    or a pipeline that DALI serialised (.dali). A script without DALI is read for a composition of
    torchvision, Albumentations, Kornia or timm, installed or not; .yaml and .json for one that
    Albumentations saved.

    Example:  workbench import train.py:train_transform -o train.json
    """
    from workbench.engine.importing import from_file
    from workbench.files import write_text
    from workbench.graph.layout import dump_document

    path, name = source
    refuse_overwriting_source(path, output)
    imported = from_file(path, pipeline or name, arguments, seconds, data)
    click.echo(write_text(output, dump_document(imported.document)))
    for line in imported.report.lines():
        click.echo(line)
