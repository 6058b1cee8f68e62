"""Code shared by all commands: parse graph, data and file arguments, and report errors."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from workbench.errors import (
    ArgumentError,
    DataError,
    GraphError,
    GraphFormatError,
    RecordFormatError,
    SaveError,
    WorkbenchError,
)
from workbench.files import require_place
from workbench.graph.execution.active import muted_nodes, unused_nodes, without_loose
from workbench.graph.execution.dataset_parameters import parameter_of, parameters, with_data_sides
from workbench.graph.model import Graph, is_name
from workbench.graph.model.faults import Faults
from workbench.graph.user_functions.trust import trust_graph
from workbench.graph.variants.source_annotations import describe_removed_outputs, with_opened
from workbench.sources import (
    PARAMETER,
    Dataset,
    Datasets,
    list_samples,
    load_source,
    no_files_reason,
    open_dataset,
    require_dataset,
    source_kinds,
)
from workbench.system_limits import is_full, is_memory_refusal, memory_remedy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FACTORY = re.compile(r"([A-Za-z_]\w*(\.[A-Za-z_]\w*)*|.+\.py):[A-Za-z_]\w*")
P = ParamSpec("P")
R = TypeVar("R")


def report_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Convert WorkbenchError, a full disk and out-of-memory errors to a message and exit code 1.

    Invalid arguments, including a file that is not a record, exit with code 2.
    """

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except GraphError as error:
            raise click.ClickException(str(error)) from None
        except (ArgumentError, RecordFormatError) as error:
            raise click.UsageError(str(error)) from None
        except WorkbenchError as error:
            raise click.ClickException(str(error)) from None
        except OSError as error:
            if not is_full(error):  # for example a closed pipe, which click handles
                raise
            what = error.filename or "standard output"
            raise click.ClickException(f"{what} was not written: {error.strerror}.") from None
        except (MemoryError, RuntimeError) as error:
            if not is_memory_refusal(error):
                raise
            raise click.ClickException(f"Out of memory. {memory_remedy()}") from None

    return wrapped


def load_source_graph(source: str) -> Graph:
    """Load a graph file, a shared picture or a recipe, and print the nodes that do not run.

    Raises BadParameter if ``source`` does not exist or contains no graph.
    """
    graph = _graph_of(source)
    context = click.get_current_context(silent=True)
    if context is not None and context.find_root().obj is True:
        graph = trust_graph(graph)
    for nodes, why in (
        (muted_nodes(graph), "muted"),
        (sorted(unused_nodes(graph)), "no output depends on it"),
    ):
        for node in nodes:
            click.echo(f"note: {node} is skipped: {why}", err=True)
    return graph


def _graph_of(source: str) -> Graph:
    from workbench.graph import load_recipe, read_graph

    if source.endswith((".json", ".png")) and not Path(source).is_file():
        what = f"{source} is a folder" if Path(source).is_dir() else f"There is no file {source}"
        raise click.BadParameter(
            f"{what}. Pass a graph file, a shared picture, or a recipe (`workbench recipes`)."
        )
    try:
        if source.endswith(".png"):
            from workbench.preview.requests.share import read_picture

            return read_picture(source)
        if source.endswith(".json") or Path(source).is_file():
            return read_graph(source)
        return load_recipe(source)
    except GraphFormatError as error:
        raise click.BadParameter(str(error)) from None


def parse_datasets(
    _: click.Context, __: click.Parameter, values: tuple[str, ...]
) -> dict[str, Dataset]:
    """Parse ``[NAME=]PATH`` options to datasets by parameter name. The default name is ``data``."""
    found: dict[str, Dataset] = {}
    for value in values:
        name, equals, path = value.partition("=")
        hint = f" If this is a path that contains '=', write ./{value}."
        if not equals or not is_name(name):
            name, path, hint = PARAMETER, value, ""
        if name in found:
            raise click.BadParameter(
                f"{value}: {name!r} is already set to {found[name]}. Pass the data of another "
                f"parameter as NAME=PATH.{hint}"
            )
        found[name] = _dataset(path, hint)
    return found


def _dataset(path: str, hint: str = "") -> Dataset:
    try:
        dataset = _factory_data(path) if _is_factory_reference(path) else open_dataset(path)
        require_dataset(dataset)
    except DataError as error:
        raise click.BadParameter(f"{error}{hint}") from None
    return dataset


def require_filled(dataset: Dataset, hint: str = "'--data'") -> None:
    """Raise BadParameter if the data contains no file. The search stops at the first file."""
    try:
        if not load_source(dataset.kind).is_listed or any(True for _ in list_samples(dataset)):
            return
    except DataError as error:
        raise click.BadParameter(str(error), param_hint=hint) from None
    raise click.BadParameter(no_files_reason(dataset), param_hint=hint)


def graph_warnings(graph: Graph, data: Datasets) -> Faults:
    """Return warnings about a graph and the datasets of its parameters."""
    from workbench.graph.checks.check_warnings import check_warnings
    from workbench.sources import data_facts

    facts = {name: data_facts(dataset) for name, dataset in data.items()}
    return check_warnings(with_data_sides(graph, data), facts=facts)


def print_warnings(warnings: Faults) -> None:
    """Print warnings about the graph to standard error. An exported program runs despite them."""
    for warning in warnings:
        if warning.code not in ("unusable", "silent"):  # these files are listed individually
            click.echo(f"warning: {warning}", err=True)


def _is_factory_reference(text: str) -> bool:
    """Return whether a text is ``module:factory`` or ``file.py:factory``, not a path or kind."""
    kind, _, _ = text.partition(":")
    if kind in source_kinds() or os.path.exists(text):
        return False
    return bool(_FACTORY.fullmatch(text))


def _factory_data(text: str) -> Dataset:
    """Call a factory and return its data. Only the command line may do this, as it runs code."""
    from workbench.sources.kinds.memory import memory_dataset, open_images

    sys.path.insert(0, os.getcwd())  # as for a script in this folder
    try:
        return replace(memory_dataset(open_images(text)), title=text)
    except DataError as error:
        raise DataError(f"{text}: {error}") from None
    except Exception as error:
        raise DataError(f"{text} returned no data: {type(error).__name__}: {error}.") from None
    finally:
        sys.path.remove(os.getcwd())


def existing_data(value: str) -> str | Dataset:
    """Return the data at a path. Raises BadParameter if the data cannot be read."""
    dataset = _dataset(value)
    return dataset if dataset.items else value


def _existing(_: click.Context, __: click.Parameter, value: str | None) -> str | Dataset | None:
    return None if value is None else existing_data(value)


def data_option(*names: str, **attributes: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that adds an option for one data set, which must exist if it is passed."""
    return click.option(*names, callback=_existing, **attributes)


def renamed_option(old: str, new: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a hidden option that raises an error with the option's new name."""

    def refuse(_: click.Context, option: click.Parameter, value: bool | None) -> None:
        if value is not None:
            raise click.UsageError(f"{option.opts[0]} was renamed. Use {new}.")

    return click.option(
        old, is_flag=True, default=None, hidden=True, expose_value=False, callback=refuse
    )


def writable_path(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return the path. Raises BadParameter if it cannot be written, or is "-" (standard output)."""
    if value == "-":
        raise click.BadParameter("standard output is not supported. Use a file.")
    try:
        if value is not None:
            require_place(value)
    except SaveError as error:
        raise click.BadParameter(str(error)) from None
    return value


def writable_file(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the path. Raises BadParameter if it is a folder or cannot be written."""
    if value is not None and Path(value).is_dir():
        raise click.BadParameter(f"{value} is a folder. Use a file.")
    return writable_path(context, option, value)


def picture_file(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the path. Raises BadParameter if it cannot be written, or is not .png or .svg."""
    if value is not None and Path(value).suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{value} ends in neither .png nor .svg.")
    return writable_file(context, option, value)


def write_figure(figure: Figure, path: str) -> Path:
    """Write a figure as PNG or SVG, depending on the file extension. Raises SaveError on error."""
    from workbench.figures import render_figure
    from workbench.files import write_bytes

    kind: Any = Path(path).suffix[1:].lower()
    return write_bytes(path, render_figure(figure, kind))


def refuse_overwriting_source(source: str, *outputs: str | None) -> None:
    """Raise BadParameter if an output is the file that the command reads."""
    for output in outputs:
        if output is None:
            continue
        target = Path(output).expanduser()
        if Path(source).is_file() and target.exists() and target.samefile(source):
            raise click.BadParameter(
                f"{output} would overwrite the source, {source}. Use another file."
            )


def open_graph_on_data(graph: Graph, data: Datasets) -> tuple[Graph, Datasets]:
    """Return the graph, adapted to the data's reader and annotations, and the data that it reads.

    Both mappings of data are by parameter name. A graph that contains its file names needs no data
    and ignores ``data``; its relative file names are relative to the current folder.
    """
    wanted = parameters(without_loose(graph).nodes)
    if not wanted:
        for dataset in data.values():
            click.echo(
                f"note: the graph names its files itself: --data {dataset} is not read", err=True
            )
        return graph, {}
    for name in (name for name in data if name not in wanted):
        raise click.BadParameter(
            f"the graph has no parameter {name!r}. Use {_data_options(wanted)}. If this is "
            f"a path that contains '=', write ./{name}=PATH.",
            param_hint="'--data'",
        )
    for name in (name for name in wanted if name not in data):
        hint = "'--data'" if name == PARAMETER else f"'--data {name}=PATH'"
        raise click.MissingParameter(
            f"The graph needs data. Add {_data_options(wanted)}.",
            param_hint=hint,
            param_type="option",
        )
    for dataset in data.values():
        require_filled(dataset)
    if any(data[name].kind != _kind_of(graph, name) for name in data):
        from workbench.catalog import load_catalog

        opened = with_opened(graph, data, load_catalog())
        if note := describe_removed_outputs(graph, opened):
            click.echo(f"note: {note}", err=True)
        graph = opened
    return graph, data


def with_sampler(graph: Graph, sampler: str | None) -> Graph:
    """Set ``sampler`` on every source of the graph. If it is empty, return the graph unchanged."""
    for source in graph.sources if sampler else ():
        if source.kind:
            load_source(source.kind).with_sampler()  # raises DataError with the reason
        graph = graph[source.id].set(sampler=sampler)
    return graph


def _kind_of(graph: Graph, name: str) -> str:
    return next((each.kind for each in graph.sources if parameter_of(each) == name), "")


def _data_options(names: Iterable[str]) -> str:
    return " ".join(f"--data {'' if name == PARAMETER else f'{name}='}PATH" for name in names)


_KINDS = (
    "Folder of images or of class folders, list of files (.txt, .csv), pattern (photos/**/*.jpg), "
    "WebDataset (.tar), TFRecord (.tfrecord), RecordIO (.rec), LMDB of Caffe, COCO annotations "
    "(.json), YOLO (data.yaml), Pascal VOC, images and masks, NumPy files (.npy), video or folders "
    "of frames, audio (.wav, .flac, .ogg), Parquet with images, or module:factory, a Python "
    "function that returns a data set"
)
FOLDER = data_option("--data", required=True, metavar="DATA", help=f"{_KINDS}.")
DATA = click.option(
    "--data",
    multiple=True,
    metavar="[NAME=]DATA",
    callback=parse_datasets,
    help=f"{_KINDS}. If the graph has several parameters, repeat the option with the name of each. "
    "Not needed if the graph's reader already lists its files.",
)
SAMPLER = click.option(
    "--sampler",
    type=click.Choice(["random", "balanced"]),
    help="Order of the samples. random: each epoch is a random order of all. balanced: samples are "
    "drawn equally often from each class.",
)
SOURCE = click.argument("graph", metavar="RECIPE|GRAPH.json")
RECORD = click.Path(exists=True, dir_okay=False)
"""Parameter type: the path of an existing measurement record."""
