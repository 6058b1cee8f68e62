"""What the commands share: how a graph, a folder and a file are named, how errors are told."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from workbench.errors import DataError, GraphFormatError, SaveError, WorkbenchError
from workbench.files import require_place
from workbench.graph.model import Graph
from workbench.graph.sources import parameters

P = ParamSpec("P")
R = TypeVar("R")


def reports(function: Callable[P, R]) -> Callable[P, R]:
    """Turn a WorkbenchError into its message and exit code 1."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except WorkbenchError as error:
            raise click.ClickException(str(error)) from None

    return wrapped


def graph_of(source: str) -> Graph:
    """A graph file, a shared picture, or a recipe by name. A missing one is a bad argument."""
    from workbench.graph import load_recipe, read_graph

    if source.endswith((".json", ".png")) and not Path(source).is_file():
        what = f"{source} is a folder" if Path(source).is_dir() else f"There is no file {source}"
        raise click.BadParameter(
            f"{what}. Name a graph file, a shared picture, or a recipe (`workbench recipes`)."
        )
    if source.endswith(".png"):
        from workbench.preview.share import read_picture

        return read_picture(source)
    if source.endswith(".json") or Path(source).is_file():
        return read_graph(source)
    try:
        return load_recipe(source)
    except GraphFormatError as error:
        raise click.BadParameter(str(error)) from None


def _data(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from workbench.sources import open_dataset, require_dataset

    try:
        if value is not None:
            require_dataset(open_dataset(value))
    except DataError as error:
        raise click.BadParameter(str(error)) from None
    return value


def place(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse standard output, which other text goes to, and where nothing can be written."""
    if value == "-":
        raise click.BadParameter("it goes to a file, not to standard output. Name the file.")
    try:
        if value is not None:
            require_place(value)
    except SaveError as error:
        raise click.BadParameter(str(error)) from None
    return value


def file(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """As ``place``; refuse a folder too."""
    if value is not None and Path(value).is_dir():
        raise click.BadParameter(f"{value} is a folder. Name a file.")
    return place(context, option, value)


def spare(source: str, *outputs: str | None) -> None:
    """Refuse to write over the file that a command reads."""
    for output in outputs:
        if output is None:
            continue
        target = Path(output).expanduser()
        if Path(source).is_file() and target.exists() and target.samefile(source):
            raise click.BadParameter(
                f"{output} is the source, {source}, and would be lost. Name another file."
            )


def folder_of(graph: Graph, data: str | None) -> str:
    """The folder that a command runs a graph on.

    A graph that names its files itself needs none and reads none: file names without a folder are
    looked for in the current one.
    """
    if parameters(graph.nodes):
        if data is None:
            raise click.MissingParameter(param_hint="'--data'", param_type="option")
        return data
    if data is not None:
        click.echo(f"note: the graph names its files itself: --data {data} is not read", err=True)
    return "."


FOLDER = click.option(
    "--data",
    required=True,
    metavar="DATA",
    callback=_data,
    help="Folder of images or of class folders, or a list of files (.txt, .csv).",
)
DATA = click.option(
    "--data",
    metavar="DATA",
    callback=_data,
    help="Folder of images or of class folders, or a list of files (.txt, .csv); only a graph that "
    "names its files needs none.",
)
SOURCE = click.argument("graph", metavar="RECIPE|GRAPH.json")
RECORD = click.Path(exists=True, dir_okay=False)
"""A record of measurements that is there."""
