"""What the commands share: how a graph, a folder and a file are named, how errors are told."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from workbench.errors import DataError, GraphFormatError, WorkbenchError
from workbench.graph.model import Graph

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
    """A graph file, a shared picture, or a recipe by name."""
    from workbench.graph import load_recipe, read_graph

    if source.endswith(".png"):
        from workbench.preview.share import read_picture

        return read_picture(source)
    if source.endswith(".json") or Path(source).is_file():
        return read_graph(source)
    try:
        return load_recipe(source)
    except GraphFormatError as error:
        raise click.BadParameter(str(error)) from None


def _folder(_: click.Context, __: click.Parameter, value: str) -> str:
    from workbench.engine.folder import require_folder

    try:
        require_folder(value)
    except DataError as error:
        raise click.BadParameter(str(error)) from None
    return value


def file(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse standard output, which other text goes to."""
    if value == "-":
        raise click.BadParameter("it goes to a file, not to standard output. Name the file.")
    return value


DATA = click.option(
    "--data",
    required=True,
    metavar="DIR",
    callback=_folder,
    help="Folder of images, or of class folders.",
)
SOURCE = click.argument("graph", metavar="RECIPE|GRAPH.json")
