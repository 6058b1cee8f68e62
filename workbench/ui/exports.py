"""The graph as code for the chosen target: what the code panel shows, and its files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.emit.targets import Export, export, load_target, target_names
from workbench.errors import GraphEditError, GraphExportError, OverwriteError
from workbench.files import encode_text
from workbench.graph.layout import Document, Layout, dump_document
from workbench.graph.model import Graph
from workbench.roots import Roots
from workbench.ui.actions import bar, panels
from workbench.ui.actions.base import tag_of
from workbench.ui.argument_rows import random_view
from workbench.ui.canvas_actions import all_folded_generators
from workbench.ui.canvas_views import on_drawn_nodes
from workbench.ui.output_paths import Output
from workbench.ui.state import Checked, State
from workbench.ui.views import CodeFault, OverwriteQuestion, TargetEntry, TextFile

NO_FAULT = CodeFault(message="", node="")


def target_entries() -> list[TargetEntry]:
    """Every target with its line."""
    return [{"name": name, "about": load_target(name).about} for name in target_names()]


class Exports:
    """The code of each target that was looked at; what a target last gave stays."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._good: dict[str, Export] = {}
        self._tried: dict[str, tuple[Graph, str]] = {}
        self._of: tuple[Any, ...] = (None,) * 4
        """What the fields are of."""
        self._fields: dict[str, Any] = {
            "files": [],
            "highlighted": {},
            "fault": NO_FAULT,
            "archive": b"",
        }

    def fields(self, state: State, layout: Layout) -> dict[str, Any]:
        """The panel's fields. While nobody looks they stay as they are: sources can be large."""
        of = state.target, state.checked, layout, state.inspected
        if state.code_in_view and any(a is not b for a, b in zip(of, self._of, strict=True)):
            self._of, self._fields = of, self._look(state, layout)
        return self._fields

    def _look(self, state: State, layout: Layout) -> dict[str, Any]:
        fault = self._fault(state, layout)
        found = self._good.get(state.target)
        files = found.files if found else {}
        return {
            "files": [{"path": path, "text": file.text} for path, file in files.items()],
            "highlighted": {}
            if fault["message"] or not found
            else _highlighted(state, found, self._catalog),
            "fault": fault,
            "archive": archive(found) if found and len(files) > 1 else b"",
        }

    def _fault(self, state: State, layout: Layout) -> CodeFault:
        """Why the present graph cannot go to the target."""
        graph, checked = state.checked.graph, state.checked
        if checked.source is None:
            first = on_drawn_nodes(graph, self._catalog, layout, checked.faults)[0]
            if state.sound is not None:
                self._try(state.sound, state.target)
            more = f" (and {len(checked.faults) - 1} more)" if len(checked.faults) > 1 else ""
            return {"message": f"{str(first).strip()}{more}", "node": first.node}
        reason = self._try(graph, state.target)
        if not reason:
            return NO_FAULT
        # the message begins with the place: ``node: ...`` or ``node.arg: ...``
        named = reason.partition(":")[0].partition(".")[0]
        node = all_folded_generators(graph, self._catalog, layout).get(named, (named, ""))[0]
        return {"message": reason, "node": node if graph.has(node) else ""}

    def _try(self, graph: Graph, target: str) -> str:
        """Why a sound graph cannot go there; where it can, that is the target's code from now."""
        before = self._tried.get(target)
        if before is not None and before[0] is graph:
            return before[1]
        reason = ""
        try:
            self._good[target] = export(graph, target, self._catalog)
        except GraphExportError as error:
            reason = str(error)
        self._tried[target] = graph, reason
        return reason


def _highlighted(state: State, found: Export, catalog: Catalog) -> dict[str, list[int]]:
    """Lines of the selected node and of what feeds its arguments, for each file that has some."""
    graph = state.checked.graph
    if not graph.has(state.inspected):
        return {}
    inputs = graph.node(state.inspected).inputs.values()
    feeding = [port.node for port in inputs if random_view(graph, catalog, port)]
    nodes = [state.inspected, *feeding]
    highlighted = {
        path: sorted({line for node in nodes for line in file.lines.get(node, ())})
        for path, file in found.files.items()
    }
    return {path: lines for path, lines in highlighted.items() if lines}


def archive(found: Export) -> bytes:
    """All files of an export as a ZIP archive; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path, file in found.files.items():
            entry = zipfile.ZipInfo(path)  # of 1980, ZIP's first day
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def save_file(
    state: State,
    document: Document,
    catalog: Catalog,
    action: bar.SaveGraph | bar.ExportScript | bar.DownloadScript | panels.SaveCode,
    roots: Roots | None,
) -> str:
    """Write the graph as JSON, as the script or as the chosen target. Returns what to tell.

    A script to be downloaded goes to ``state.script``. Where a file is there already
    ``state.overwrite`` asks whether it may be overwritten. Raises SaveError, GraphExportError, and
    GraphEditError where the graph cannot run.
    """
    if isinstance(action, bar.DownloadScript):
        (file,) = _exported(state.checked, "script", catalog).files.values()
        state.script = TextFile(number=state.script["number"] + 1, text=file.text)
        return ""
    component = "code" if isinstance(action, panels.SaveCode) else "bar"
    target = state.target if component == "code" else "script"
    asked, state.overwrite = state.overwrite, {}
    try:
        if isinstance(action, bar.SaveGraph):
            output = Output(action.path, ".json", roots, action.overwrite)
            return f"Saved {output.write(encode_text(dump_document(document), action.path))}"
        return save_code(state.checked, target, action.path, catalog, roots, action.overwrite)
    except OverwriteError as error:
        question = OverwriteQuestion(
            number=max((each["number"] for each in asked.values()), default=0) + 1,
            do=tag_of(type(action)),
            path=action.path,
            message=f"{error.path} is there already.",
        )
        state.overwrite = {component: question}
        return str(error)


def save_code(
    checked: Checked,
    target: str,
    path: str,
    catalog: Catalog,
    roots: Roots | None,
    overwrite: bool = False,
) -> str:
    """Write the present graph as code: a file, or a new folder where a target has several.

    Returns what to tell. Raises OverwriteError and as ``save_file``.
    """
    exported = _exported(checked, target, catalog)
    files = exported.files
    if len(files) > 1:
        folder = Output(path, "", roots).write_folder({k: file.text for k, file in files.items()})
        return f"Saved {len(files)} files in {folder}"
    (name, file), *_ = files.items()
    output = Output(path, Path(name).suffix, roots, overwrite)
    exported.require_name(output.path)
    return f"Saved {output.write(encode_text(file.text, path))}"


def _exported(checked: Checked, target: str, catalog: Catalog) -> Export:
    if checked.source is None:
        raise GraphEditError(f"Not exported: {checked.faults[0]}")
    return export(checked.graph, target, catalog)
