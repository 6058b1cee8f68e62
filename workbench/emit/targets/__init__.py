"""Export graphs to targets. The module of each target selects and fills a template.

Each module defines ``TARGET`` and has the name of its target. The templates are in
``emit/templates``.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from workbench import __version__
from workbench.arguments import TEXT, checked
from workbench.catalog import load_catalog
from workbench.catalog.spec import CATALOG, Catalog
from workbench.emit.core import bad_files
from workbench.emit.core.code import Code
from workbench.emit.embedded_graph import embed_graph
from workbench.errors import GraphExportError, SaveError
from workbench.files import IMAGE_SUFFIXES, write_folder, write_text
from workbench.graph.execution.dataset_parameters import (
    data_constant,
    datasets_as_read,
    parameter_of,
    parameters,
    source_kind,
    with_data_constants,
    with_data_sides,
)
from workbench.graph.model import GRAPH, Graph
from workbench.graph.resolved import ResolvedGraph, resolve
from workbench.graph.storage.layout import Document, dump_document
from workbench.graph.variants.samples import nodes_with_unseen_randomness, with_samples
from workbench.names import did_you_mean
from workbench.sources import Data, DataFacts, Datasets, data_facts, open_datasets
from workbench.sources.good_data import GoodData

_SCROLLED = "max-height: 240px; overflow: auto"
MOST_SHOWN = 80_000
"""Maximum number of characters of an export's code that a notebook shows."""
ADDITIONS = {
    "training": "a training loop",
    "samples": "each sample's file name and random values",
    "training+samples": "a training loop, and each sample's file name and random values",
    "capture": "capture: DALI prefetches by running the operators as one pipeline",
}
"""Short descriptions of the optional additions to an export, by name."""
_SUFFIXES = {".py", ".ipynb", ".json", *IMAGE_SUFFIXES}
"""Suffixes of files that contain code."""


Emit = Callable[[ResolvedGraph], Mapping[str, Code]]
"""Function that returns the code of an export by path, the main file first."""


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of export.

    Parameters
    ----------
    about:
        Short description of the result.
    emit:
        Creates the files. Raises GraphExportError if the graph is not supported.
    """

    about: str
    emit: Emit
    side_by_side: bool = False
    """True if the target supports several pipelines in one process."""
    training: Emit | None = None
    """Function that creates the files with a training loop, or None if there is no such loop."""
    samples: bool = False
    """True if batches can also contain each sample's file name and random values."""
    capture: Emit | None = None
    """Function that creates the files with captured operators, or None if it is unsupported."""
    skips_bad: bool = True
    """True if the program can read a list of the good files."""
    runs_copy: bool = False
    """True if a copy of the pipeline runs elsewhere, and its errors do not reach the program."""
    notes: Callable[[ResolvedGraph], Sequence[str]] | None = None
    """Function that describes how files without a training loop differ from the graph."""

    @property
    def additions(self) -> list[str]:
        """Keys of ``ADDITIONS`` that the target supports."""
        able = {
            "training": self.training is not None,
            "samples": self.samples,
            "capture": self.capture is not None,
        }
        return [name for name in ADDITIONS if all(able[part] for part in name.split("+"))]


@dataclass(frozen=True, slots=True, repr=False)
class Export:
    """Files of an export by path, the main file first. A notebook shows their text.

    ::

        made = wb.export(graph, "triton")
        for path, code in made.files.items():
            print(path, len(code.text))
    """

    target: str
    files: Mapping[str, Code]
    notes: tuple[str, ...] = ()
    """Sentences about differences between the files and the graph."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of ``export_resolved`` that reproduce the same code without access to the data."""
    good: GoodData | None = None
    """Data without its bad samples, written next to the program, or None if unchanged."""
    named: Callable[[str], Export] | None = field(default=None, compare=False)
    """Function that returns the export for another file name (``file`` of ``export_resolved``)."""

    def __repr__(self) -> str:
        files = (f"{path} ({code.text.count(chr(10))} lines)" for path, code in self.files.items())
        return f"<export to {self.target}: {', '.join(files)}>"

    def _repr_html_(self) -> str:
        room = MOST_SHOWN // max(1, len(self.files))
        shown = (
            f"<details{' open' if index == 0 else ''}><summary>{escape(path)}</summary>"
            f'<pre style="{_SCROLLED}">{escape(code.text)[:room]}</pre></details>'
            for index, (path, code) in enumerate(self.files.items())
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return "".join(shown) + (
            f"<p>Differences from the graph:</p><ul>{notes}</ul>" * bool(notes)
        )

    @property
    def main(self) -> Code:
        """File with the pipeline.

        ::

            print(wb.export(graph).main.text)
        """
        return next(iter(self.files.values()))

    @property
    def at_bad_file(self) -> str:
        """Advice for when DALI stops at a bad file, or "" if the program itself names the file."""
        target, text = load_target(self.target), self.main.text
        names = bad_files.NAMES[1] in text and not target.runs_copy
        if names or bad_files.HINT in text or not target.skips_bad:
            return ""
        skips = "" if self.good else ", and --skip-bad (in Python skip_bad=True) skips it"
        return (
            "the program stops at a file that DALI cannot decode, usually without naming it: "
            f"`workbench check DATA --full` names it{skips}"
        )

    def write(self, path: str | Path) -> list[Path]:
        """Write the files and, next to the program, the data without the skipped samples.

        ``path`` is a file, named in the program's usage line; for an export with several files it
        is a new folder. Returns the absolute paths, starting with the program. Raises SaveError:
        nothing is written if the name is unsuitable or if the folder exists::

            wb.export(graph, data="photos", skip_bad=True).write("pipe.py")
        """
        target = Path(path).expanduser().absolute()
        files = {name: file.text for name, file in self.files.items()}
        if len(files) == 1:
            self.require_name(target)
            if self.named is not None:
                files = {name: file.text for name, file in self.named(target.name).files.items()}
        program = self.program_path(target)
        places = [*self.good.sources(program)] if self.good else []
        if there := next(filter(Path.is_dir, places), None):
            raise SaveError(f"{there} already exists. Remove it, or choose another program name.")
        if len(files) == 1:
            written = [write_text(target, *files.values())]
        else:
            written = write_folder(target, files)
        try:
            return [*written, *(self.good.place(program) if self.good else ())]
        except OSError as error:
            raise SaveError(
                f"{error.filename or places[0]} was not written: {error.strerror or error}."
            ) from None

    def program_path(self, target: Path) -> Path:
        """Return the path that the main file gets when the export is written to ``target``."""
        return target / next(iter(self.files)) if len(self.files) > 1 else target

    def require_name(self, path: str | Path) -> None:
        """Raise SaveError if a single-file export cannot be used under the name of ``path``.

        Python searches a script's folder for modules first: ``jax.py`` that imports jax would
        import itself, and ``random.py`` would break other modules that import random.
        """
        name, suffix = Path(path).stem, Path(path).suffix
        ((own, source),) = self.files.items()
        fits = Path(own).suffix
        if suffix != fits and suffix in _SUFFIXES:
            raise SaveError(
                f"{path} was not written: the target {self.target!r} writes a {fits} file, not "
                f"{suffix}. Name it {name}{fits}."
            )
        if suffix == ".py" and name in _imported(source.text) | sys.stdlib_module_names:
            raise SaveError(
                f"{path} was not written: a script of this name hides the module {name!r}, which "
                "the exported code or one of its packages may import. Choose another name, for "
                f"example {own}."
            )


def _imported(text: str) -> set[str]:
    """Return the packages that a program imports, and numpy, which DALI imports."""
    found = {"numpy"}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found.update(alias.name.split(".")[0] for alias in names)
            case ast.ImportFrom(module=str(module)):
                found.add(module.split(".")[0])
    return found


@cache
def target_names() -> tuple[str, ...]:
    """Return the names of all targets, ``script`` first."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name != "script", name)))


def require_skips_bad(name: str) -> None:
    """Raise GraphExportError if a target cannot read a list of good files, or is unknown."""
    if not load_target(name).skips_bad:
        raise GraphExportError(
            f"The target {name!r} cannot skip bad files, because it does not read a list of good "
            "ones. Export without --skip-bad ('Skip bad files' in the app), or for pytorch."
        )


def load_target(name: str) -> Target:
    """Return a target by name. Raises GraphExportError with a suggestion if it is unknown."""
    if name not in target_names():
        hint = did_you_mean(name, target_names(), f"Available: {', '.join(target_names())}.")
        raise GraphExportError(f"There is no target {name!r}. {hint}")
    found = import_module(f"{__name__}.{name}").TARGET
    assert isinstance(found, Target)
    return found


@checked(graph=GRAPH, target=TEXT, catalog=CATALOG, with_=TEXT)
def export(
    graph: Graph,
    target: str = "script",
    catalog: Catalog | None = None,
    *,
    with_: str = "",
    data: Data | None = None,
    facts: Mapping[str, DataFacts] | None = None,
    plain: bool = False,
    good: GoodData | None = None,
) -> Export:
    """Export the graph as code for a target; nothing is written.

    ``catalog`` is by default that of the installed DALI. ``with_`` is empty, ``training`` (adds a
    training loop to a loader), or ``samples`` (batches of ``pytorch``, ``lightning`` and ``jax``
    also contain the file name and the random values of each sample, which ``wb.replay`` shows
    again). ``training+samples`` is both. ``capture`` is DALI's capture mode, for ``dynamic``.
    ``data`` is the data that the code will read, if known: the code then lists the files of a
    folder without class folders, and its docstring contains warnings about the data. ``facts`` are
    properties of ``data`` by parameter, if computed already (``workbench.sources.data_facts``);
    ``{}`` omits the warnings. Unless ``plain``, the main file ends with the graph in a comment,
    from which ``from_file`` restores it exactly without running the file. ``good`` is data without
    bad samples, used instead of ``data``: the program reads it from its own folder. Raises
    GraphFaultsError if the graph cannot run, and GraphExportError if the target is unknown or does
    not support the graph::

        loader = wb.export(graph, "pytorch", with_="training", plain=True)
        print(loader.main.text)
    """
    load_target(target)
    catalog = catalog or load_catalog()
    datasets = good.datasets if good else open_datasets(data) if data is not None else {}
    graph = with_data_sides(graph, datasets or graph.datasets or {})
    if facts is None:
        facts = {name: data_facts(each) for name, each in datasets_as_read(graph, datasets).items()}
    resolved, endings = resolve(graph, catalog, facts), good.endings if good else {}

    def named(file: str) -> Export:
        made = export_resolved(
            resolved, target, datasets, with_, beside=endings, file=file, plain=plain
        )
        return made if plain else with_embedded_graph(made, Document(graph))

    return replace(named(""), good=good, named=named)


def export_resolved(
    resolved: ResolvedGraph,
    target: str,
    data: Datasets,
    with_: str = "",
    reads: Mapping[str, str] | None = None,
    beside: Mapping[str, str] | None = None,
    file: str = "",
    plain: bool = False,
) -> Export:
    """Export a graph that was resolved with its data's properties, without embedding the graph.

    ``reads`` maps sources to the reader arguments to which the data path is passed; by default this
    is derived from ``data``. ``beside`` are the ``endings`` of ``GoodData``, which the program
    reads from its own folder. ``file`` is the program's file name in its usage line, which also
    lets a notebook find files next to it; by default it is the target's usual file name. A
    ``plain`` program does not name the command that finds a bad file.
    """
    found = load_target(target)
    reads = _read_directly(resolved.graph, data) if reads is None else reads
    part = _with_readers(resolved.graph, reads)
    resolved = _with_adjacent_data(resolved.for_graph(part), beside or {})
    hints = found.skips_bad and not plain
    resolved = replace(resolved, file=file or resolved.file, hints=hints)
    if part.settings.pipelines > 1 and not found.side_by_side:
        able = [name for name in target_names() if load_target(name).side_by_side]
        raise GraphExportError(
            f"pipelines is {part.settings.pipelines}, but the target {target!r} runs one pipeline "
            f"per process. Set pipelines to 1, or export for {', '.join(able)}."
        )
    files = _emitter(target, found, with_)(resolved)
    training, samples = _requested_additions(with_)
    notes = [*found.notes(resolved)] if found.notes is not None and not training else []
    if samples:
        notes += [
            f"{node} samples internally: no output has its values, so wb.replay does not accept "
            "this graph."
            for node in nodes_with_unseen_randomness(resolved)
        ]
    if found.skips_bad and not beside:
        kinds = parameters(resolved.nodes).values()
        notes += dict.fromkeys(kind.program_note for kind in kinds if kind.program_note)
    options = {"with_": with_, "reads": dict(reads), "beside": dict(beside or {})}
    options["file"] = "" if file in files else file
    return Export(target, files, tuple(notes), options)


def _with_adjacent_data(resolved: ResolvedGraph, endings: Mapping[str, str]) -> ResolvedGraph:
    """Replace data parameters with constants that name data next to the program."""
    if not endings:
        return resolved
    names = {name: data_constant(name) for name in endings}
    return replace(
        resolved,
        graph=with_data_constants(resolved.graph, names),
        facts={names.get(name, name): facts for name, facts in resolved.facts.items()},
        beside={names[name]: ending for name, ending in endings.items()},
    )


def with_embedded_graph(exported: Export, document: Document) -> Export:
    """Embed a document in the main file of the export that was created from it."""
    (path, code), *others = exported.files.items()
    content = {
        "workbench": __version__,
        "target": exported.target,
        "options": exported.options,
        "graph": json.loads(dump_document(Document(document.graph, document.layout))),
    }
    main = replace(code, text=embed_graph(code.text, content))
    return replace(exported, files={path: main, **dict(others)})


def _read_directly(graph: Graph, data: Datasets) -> dict[str, str]:
    """Map each source whose reader accepts the data path to the reader argument for the path."""
    found = {}
    for source in graph.sources:
        parameter = parameter_of(source)
        if parameter is not None:
            argument = source_kind(source).path_argument(data.get(parameter))
            if argument:
                found[source.id] = argument
    return found


def _with_readers(graph: Graph, reads: Mapping[str, str]) -> Graph:
    """Return the graph in which each source in ``reads`` passes the data path to its reader.

    ``reads`` maps source ids to the names of the reader arguments.
    """
    for source in graph.sources:
        if source.id in reads:
            kind = f"{source.kind}:{reads[source.id]}"
            graph = graph.replace_node(replace(source, kind=kind))
    return graph


def _requested_additions(with_: str) -> tuple[bool, bool]:
    """Return True or False for (training, samples), as requested by ``with_``.

    Raises GraphExportError if ``with_`` is unknown.
    """
    if with_ and with_ not in ADDITIONS:
        known = ", ".join(ADDITIONS)
        raise GraphExportError(f"with_ is {with_!r}. Use one of: {known}.")
    return "training" in with_, "samples" in with_


def _emitter(name: str, target: Target, with_: str) -> Emit:
    """Return the function that creates a target's files with the requested additions.

    Raises GraphExportError if the target does not support them.
    """
    training, samples = _requested_additions(with_)
    every = [(each, load_target(each)) for each in target_names()] if with_ else []
    if training and target.training is None:
        able = ", ".join(each for each, other in every if other.training is not None)
        raise GraphExportError(
            f"The target {name!r} does not support a training loop. Export without the loop, or "
            f"for {able}."
        )
    if samples and not target.samples:
        able = ", ".join(each for each, other in every if other.samples)
        raise GraphExportError(
            f"The target {name!r} cannot return file names and random values. Export without "
            f"them, or for {able}."
        )
    if with_ == "capture":
        if target.capture is None:
            able = ", ".join(each for each, other in every if other.capture is not None)
            raise GraphExportError(
                f"The target {name!r} has no capture mode. Export without capture, or for the "
                f"target {able}."
            )
        return target.capture
    emit = target.training if training and target.training is not None else target.emit
    if not samples:
        return emit
    return lambda resolved: emit(resolved.for_graph(with_samples(resolved)))
