"""Workbench as a widget for JupyterLab and other hosts of anywidget."""

from __future__ import annotations

import json
import os
import secrets
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import ipywidgets
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from workbench.arguments import FLAG, PATH, PATHS, TEXT, checked
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine.protocol.shared_engine import set_shared_engine
from workbench.errors import ArgumentError, UnknownNameError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Graph
from workbench.graph.storage.io import dump_graph
from workbench.graph.user_functions.trust import trust_graph
from workbench.names import did_you_mean
from workbench.roots import Roots
from workbench.sources import Data, Datasets, open_datasets, require_dataset
from workbench.sources.kinds.file_list import require_files
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS, TABS
from workbench.ui.export.exports import entry_names
from workbench.ui.notebook.graph_comparison import is_same_data, require_same_data
from workbench.ui.notebook.notebook_code import SETTINGS_NAMES, CodeAccess
from workbench.ui.notebook.notebook_part import PARTS, Part
from workbench.ui.notebook.static_snapshot import StaticSnapshot
from workbench.ui.state.graph_argument import GraphLike, to_document, to_graph
from workbench.ui.state.owner import notebook_owner, notebook_path, running_cell

if TYPE_CHECKING:
    from workbench.ui.notebook.part_types import TypedWorkbench as VBox
else:
    VBox = ipywidgets.VBox

Arrangement = Literal["side", "stacked"]
LAYOUTS = get_args(Arrangement)
HEIGHT = 620
LEAST_HEIGHT = 320

_WITH_GRAPH = (("bar", "saved"), ("data", "summary"))
"""Fields (component, name) that change with the graph and its data."""

_ELSEWHERE = {
    **{name: f"It is a setting: w.settings.{name}." for name in SETTINGS_NAMES},
    "export": "Use w.to_code('pytorch').",
    **{name: f"Use w.batch(0).{name}." for name in ("images", "labels", "files", "draws")},
    "plot": "Use w.batch(0).plot().",
    "save": "Use w.graph.save('mine.json').",
    "show": "Put w on the last line of a cell, or use w.batch(0).show().",
}
"""Hint in the error for each attribute that users may expect but a workbench does not have."""

_open: weakref.WeakSet[Workbench] = weakref.WeakSet()


def _require_arrangement(layout: object, height: object) -> None:
    if layout not in LAYOUTS:
        raise ArgumentError(f"layout is {layout!r}. Use one of: {', '.join(LAYOUTS)}.")
    whole = isinstance(height, int) and not isinstance(height, bool)
    if not whole or height < LEAST_HEIGHT:  # type: ignore[operator]
        raise ArgumentError(
            f"height is {height!r}. Use an integer, at least {LEAST_HEIGHT} pixels: "
            f"height={HEIGHT}."
        )


def _require_data(datasets: Datasets) -> None:
    for dataset in datasets.values():
        require_dataset(dataset)
        require_files(dataset)


def show_pictures_of_boxes() -> None:
    """Make IPython display the snapshot of panels that are placed in an ipywidgets box.

    Boxes of ipywidgets have no picture for saved notebooks. Repeated calls have no effect.
    """
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        formatter = shell.display_formatter.ipython_display_formatter
        formatter.for_type(ipywidgets.Box, _show_box)


def _show_box(box: Any) -> None:
    if isinstance(box, Workbench):
        box._ipython_display_()
        return
    bundle = box._repr_mimebundle_()
    if bundle is not None:
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        display(data, metadata=metadata, raw=True)
    parts = [each for each in _within(box) if isinstance(each, Part | Workbench)]
    for part in {id(each._static_snapshot): each for each in parts}.values():
        part.show_static_snapshot()


def _within(box: ipywidgets.Box) -> Iterator[ipywidgets.Widget]:
    for child in box.children:
        yield child
        if isinstance(child, ipywidgets.Box) and not isinstance(child, Workbench):
            yield from _within(child)


def _owner(datasets: Datasets, graph: Graph) -> str:
    """Return the owner of the session of the running cell; "" outside notebooks."""
    path = notebook_path()
    given = ((name, dataset.identity) for name, dataset in datasets.items())
    start = json.dumps([*given, dump_graph(graph)])
    return notebook_owner(path, running_cell(), start) if path else ""


class _NotNone(traitlets.Any):
    """Trait whose validators also run for None, unlike those of ``Any``."""

    allow_none = False


class Workbench(CodeAccess, VBox):
    """Workbench for data and a graph: compose, preview, measure and export.

    Parameters
    ----------
    data:
        A folder of images, flat or with a folder per class; a file in another supported format; a
        list of paths or (path, label) pairs; a pandas or Polars data frame with a column of paths.
        By default the data of the graph (``workbench.read``); without a graph, the working folder.
    graph:
        A ``Graph``, the result of ``from_file`` or ``from_pipeline``, the name of a recipe, a path
        to a graph file, or its parsed JSON.
    restore:
        How to handle earlier edits of the same notebook cell with the same data and graph. By
        default edits are saved to disk, and earlier edits are offered but not applied: the
        workbench shows exactly the given graph. ``True`` applies earlier edits, and ``False`` saves
        nothing. If the kernel does not know its notebook, edits appear in the list of recent work
        instead.
    trust:
        True if functions in the graph (``python_function``) may run, with your permissions.
        Functions created with ``workbench.node`` in this process may always run.
    layout:
        ``"side"``: canvas, inspector and panels side by side if the cell is wide enough.
        ``"stacked"``: one column, with the panels first and always visible.
    height:
        Height in pixels, at least 320; the lower edge can be dragged.
    roots:
        Folders below which files may be opened and saved; by default anywhere.

    ``canvas``, ``inspector``, ``preview``, ``speed``, ``code``, ``data``, ``results``, ``bar``,
    ``tabs`` and ``status`` are separate widgets that can be arranged, linked and observed.
    ``w.code.source`` is the script with the data as a parameter; ``w.to_code()`` returns the script
    for the current data, as in the Code panel. ``graph`` is a trait that can be observed and set to
    a Graph, a recipe's name, a path or parsed JSON (undo restores the previous graph). Setting a
    graph that has its own data (``workbench.read``) also switches to that data; undo does not
    switch back. ``target`` is a trait with the export target of the Code panel. Setting a field to
    an invalid value, such as ``w.preview.batch = 5000``, raises GraphEditError and does not change
    the field.

    The widget can access every file that the kernel can access, unless ``roots`` restricts it.
    Jupyter controls access to the kernel.

    Raises GraphFormatError for a graph that cannot be read, DataError for missing data, and
    ArgumentError for a graph without data or an invalid layout or height. After ``close``, methods
    that run or edit raise EngineClosedError.

    ::

        w = wb.Workbench("photos", "imagenet-train", restore=False)
        w.close()
    """

    if not TYPE_CHECKING:  # ``part_types`` has their types
        graph = _NotNone(help="The current graph.")
        target = traitlets.Enum(entry_names(), "script", help="Export target of the Code panel.")

    @checked(restore=FLAG, trust=FLAG, roots=PATHS)
    def __init__(
        self,
        data: Data | Graph | ImportedGraph | None = None,
        graph: GraphLike = None,
        *,
        restore: bool | None = None,
        trust: bool = False,
        layout: Arrangement = "side",
        height: int = HEIGHT,
        roots: Sequence[str | Path] | None = None,
    ) -> None:
        _require_arrangement(layout, height)
        self._parameters = {}
        self._height, self._stacked = height, layout == "stacked"
        if isinstance(data, Graph | ImportedGraph):
            if graph is not None:
                raise ArgumentError("Workbench received two graphs. Pass data, then a graph.")
            data, graph = None, data
        given = to_document(graph)
        if data is None:
            if not given.graph.datasets and graph is not None and parameters(given.graph.sources):
                raise ArgumentError(
                    "The graph has no data. Pass it: Workbench('photos', graph), or '.' for the "
                    f"working folder ({os.getcwd()})."
                )
            data = given.graph.datasets or "."
        datasets = open_datasets(data)
        if trust:
            given = replace(given, graph=trust_graph(given.graph))
        _require_data(datasets)
        for other in list(_open):
            other._model.release_worker()  # one worker at a time, also if a cell is run again
        id_here = secrets.token_hex(8)
        self._parts: dict[str, Part] = {
            name: part(workbench=id_here) for name, part in PARTS.items()
        }
        self._static_snapshot = StaticSnapshot(
            lambda: self._model.graph, lambda: self._model.state.preview
        )
        self._model: ViewModel = ViewModel(
            datasets,
            given,
            self._publish,
            together=lambda component: self._parts[component].one_message(),
            restore=restore is not False,
            owner="" if restore is False else _owner(datasets, given.graph),
            apply_kept=restore is True,
            cell=running_cell(),
            roots=None if roots is None else Roots.of(roots),
        )
        for component in COMPONENTS:
            part = self._parts[component.name]
            part._model, part._static_snapshot = self._model, self._static_snapshot
            part.observe(partial(self._on_outbox, component.name), "outbox")
            part.observe(partial(self._on_watched, component.name), "watched")
            for field in component.fields:
                if field.direction == "both":
                    part.observe(partial(self._on_field, component.name), field.name)
        super().__init__(self._arranged())
        self.graph = self._model.graph
        if self.bar.restored.get("offered"):
            self._print_offer(f"{self.bar.restored['text']} Pass restore=True to apply them.")
        traitlets.link((self, "target"), (self.code, "target"))
        self._layout_self()
        _open.add(self)
        set_shared_engine(self._model.engine)
        show_pictures_of_boxes()

    def _print_offer(self, line: str) -> None:
        if get_ipython() is None:
            print(line)
            return
        handle = DisplayHandle()
        handle.display({"text/plain": line}, raw=True)

        def remove(change: Any) -> None:
            if not change["new"].get("offered"):
                handle.update({"text/plain": ""}, raw=True)
                self.bar.unobserve(remove, "restored")

        self.bar.observe(remove, "restored")

    # Arrangement of the parts

    def _arranged(self) -> list[ipywidgets.Widget]:
        for part in self._parts.values():
            part.layout = ipywidgets.Layout(width="100%", margin="0", overflow="visible")
            part.layout.min_width = "0"  # next to others in a box, each takes its share
        # A panel is hidden with its box: shown in a separate cell, it is visible whatever tab is
        # open.
        self._panels = {name: ipywidgets.VBox([self._parts[name]]) for name in TABS}
        boxes = {
            "canvas": ipywidgets.VBox([self.canvas]),
            "inspector": ipywidgets.VBox([self.inspector]),
            "panels": ipywidgets.VBox([self.tabs, *self._panels.values()]),
        }
        panes = ipywidgets.HBox(list(boxes.values())).add_class("wb-screen-panes")
        for box in [*boxes.values(), *self._panels.values(), panes]:
            box.layout = ipywidgets.Layout(width="100%", margin="0")
        for name, box in boxes.items():
            box.add_class("wb-pane").add_class(f"wb-pane-{name}")
        self.tabs.observe(self._show_tab, "tab")
        self._show_tab()
        return [self.bar, panes, self.status]

    def _layout_self(self) -> None:
        self.layout = ipywidgets.Layout(width="100%", height=f"{self._height}px", margin="0")
        self.add_class("wb-screen")
        if self._stacked:
            self.add_class("wb-screen-stacked")

    def _show_tab(self, change: object = None) -> None:
        for name in TABS:
            self._panels[name].layout.display = None if name == self.tabs.tab else "none"

    # Between the view-model and the widgets

    def _publish(self, component: str, field: str, value: Any) -> None:
        self._parts[component].show(field, value)
        if (component, field) in _WITH_GRAPH and hasattr(self, "_model") and not self._closed:
            graph, known = self._model.graph, self.graph
            # a count publishes often, also while a cell sets another graph: not each time
            if field == "saved" or known is None or graph.datasets != known.datasets:
                self.graph = graph
        if field == "picture" and value:
            self._static_snapshot.changed()

    def _on_outbox(self, component: str, change: Any) -> None:
        self._model.handle_outbox(component, change["new"])

    def _on_watched(self, component: str, change: Any) -> None:
        self._model.heartbeat.watch(component)

    def _on_field(self, component: str, change: Any) -> None:
        self._parts[component].handle_field(component, change["name"], change["new"])

    # Access from Python code

    if not TYPE_CHECKING:  # mypy would accept every name

        def __getattr__(self, name: str) -> Part:
            """Return the widget of the component ``name``."""
            if name not in PARTS:
                public = [each for each in dir(self) if not each.startswith("_")]
                hint = "" if name.startswith("_") else did_you_mean(name, public, cutoff=0.7)
                if not name.startswith("_") and hasattr(Graph, name):
                    hint = f"It is a method of graphs: w.graph = w.graph.{name}(...)."
                hint = _ELSEWHERE.get(name, hint)
                raise UnknownNameError(f"Workbench has no attribute {name!r}. {hint}".rstrip())
            return self._parts[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *PARTS]

    def __repr__(self) -> str:
        if self._closed or not hasattr(self, "_model"):
            return "<workbench, closed>"
        graph = self._model.graph
        data = self._model.data_panel.chip
        count = len(graph.nodes)
        return f"<workbench of {data}: {graph.name}, {count} node{'s' * (count != 1)}>"

    @traitlets.validate("graph")
    def _to_graph(self, proposal: Any) -> Graph:
        model = self._live
        if proposal["value"] is None:
            raise ArgumentError("w.graph is None. Use a Graph, a recipe's name or a path.")
        graph = to_graph(proposal["value"])
        data = graph.datasets
        if not data or is_same_data(data, model.data_panel.datasets) or graph is model.graph:
            return graph
        _require_data(data)
        model.set_graph(graph, data=data)  # here because graphs of other data may be equal
        return model.graph

    @traitlets.observe("graph")
    def _on_graph(self, change: Any) -> None:
        if hasattr(self, "_model"):
            self._model.set_graph(change["new"])

    @checked(path=PATH)
    def share(self, path: str | Path) -> Path:
        """Write a PNG with a contact sheet of the current batch; the file also contains the graph.

        Drop the file on a workbench to open the graph. Return the file's path. Raises
        ArgumentError for a suffix other than ``.png``, SaveError, GraphFaultsError if the graph
        cannot run, and the errors of ``preview_batch``.

        ::

            picture = w.share("mine.png")
        """
        if Path(path).suffix.lower() not in ("", ".png"):
            raise ArgumentError(f"w.share: path is {str(path)!r}. Use a name that ends in .png.")
        return self._live.share(path)

    @checked(part=TEXT)
    def panel(self, part: str = "all") -> Any:
        """Return the interface of this workbench, or one panel of it, for your own Panel app.

        To show one panel in a notebook, use its attribute as the last line of a cell, such as
        ``w.results``.

        ``part`` is ``"all"``, ``"canvas"``, ``"inspector"``, ``"preview"``, ``"speed"``,
        ``"code"``, ``"data"``, ``"results"``, ``"bar"``, ``"tabs"`` or ``"status"``. Changes on the
        page apply here and vice versa; edges between the panels can be dragged, and a narrow page
        has one column. When a page is closed, the worker process ends to free memory. Users who
        reach your app can open and save files wherever this process can, unless ``roots`` is set.
        Raises ArgumentError for an unknown part, and EngineClosedError on a closed workbench.

        ::

            import panel as pn

            app = pn.Column("# My photos", w.panel("preview"))
            # app.servable(), and in a shell: panel serve app.py
        """
        self._live  # noqa: B018
        from workbench.ui.notebook.panel_view import panel_view

        return panel_view(self, part, self._height)

    @checked()
    def compare(self, other: GraphLike) -> None:
        """Compare the current graph with another in the preview, on the same photos and seeds.

        ``other`` is a graph, a recipe's name or a path. Raises GraphFormatError for an invalid
        graph, and ArgumentError for a graph that reads different data.

        ::

            w.compare("simclr")
        """
        model = self._live
        document = to_document(other)
        data = document.graph.datasets or {}
        fix = "use wb.compare(w.graph, other, data=...)"
        require_same_data("w.compare", model.data_panel.datasets, data, fix)
        model.compare(document)

    def close(self) -> None:
        """End the worker process to free its memory, and remove the widgets from the page.

        ::

            other = wb.Workbench(graph, restore=False)
            other.close()
        """
        if hasattr(self, "_model"):  # ipywidgets also closes a widget whose constructor failed
            self._static_snapshot.close()
            self._model.close()
            self._closed = True
            for part in self._parts.values():
                part.close()
        super().close()

    def _ipython_display_(self, **kwargs: Any) -> None:
        """Display the widget and, in a separate output, the last picture for the saved notebook."""
        if self._closed:  # its widgets were removed from the page
            display({"text/plain": repr(self)}, raw=True)
            return
        display(super()._repr_mimebundle_(**kwargs), raw=True)
        self.show_static_snapshot()

    def show_static_snapshot(self) -> None:
        """Display the last picture in a separate output, for the saved notebook."""
        if not self._model.data_panel.error:
            self._static_snapshot.show()
