"""Export the graph for the selected target, for display, copying and saving.

The titles of groups become comments above the first line of their nodes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from operator import is_
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.targets import (
    ADDITIONS,
    Export,
    export_resolved,
    load_target,
    require_skips_bad,
    target_names,
    with_embedded_graph,
)
from workbench.errors import DataError, GraphEditError, GraphExportError
from workbench.graph.execution.dataset_parameters import require_numbering
from workbench.graph.storage.layout import Document, Frame, Layout
from workbench.sources import Datasets, data_facts
from workbench.ui.canvas.canvas_payloads import all_folded_generators, on_visible_nodes
from workbench.ui.contract.payloads import CodeFault, TargetEntry
from workbench.ui.data.data_panel import DataPanel
from workbench.ui.inspector.argument_rows import random_view
from workbench.ui.state.view_state import Checked, ViewState, blocking_faults

LINE_END = b"\n"
_WITH = " with "
NO_FAULT = CodeFault(message="", node="")


def target_entries() -> list[TargetEntry]:
    """Return payloads of all targets, alone and with each addition such as a training loop."""
    entries: list[TargetEntry] = []
    for name in target_names():
        target = load_target(name)
        entries.append({"name": name, "about": target.about})
        for with_ in target.additions:
            about = f"{target.about}; with {ADDITIONS[with_]}"
            entries.append({"name": f"{name}{_WITH}{with_}", "about": about})
    return entries


def entry_names() -> list[str]:
    """Return the names in ``target_entries``."""
    return [entry["name"] for entry in target_entries()]


def choose_target(state: ViewState, name: str) -> None:
    """Select a target by its name in ``target_entries``, and show its code from the first line.

    Raises GraphExportError for an unknown target.
    """
    if name not in entry_names():
        target, _, with_ = name.partition(_WITH)
        load_target(target)
        raise GraphExportError(f"The target {target} has no variant with {with_!r}.")
    state.target, state.target_number = name, state.target_number + 1
    state.code_from_top = True


def _export(
    checked: Checked, chosen: str, panel: DataPanel, skip_bad: bool, file: str = ""
) -> Export:
    target, _, with_ = chosen.partition(_WITH)
    if skip_bad:
        require_skips_bad(target)
        good = panel.good_data()
        skipped = panel.found is not None and panel.found.skipped
        require_numbering(checked.running.graph.sources, [*good.datasets] if skipped else [])
        facts = {name: data_facts(each) for name, each in good.datasets.items()}
        running = replace(checked.running, facts=facts)
        endings = good.endings
        made = export_resolved(running, target, good.datasets, with_, beside=endings, file=file)
        return replace(made, good=good)
    running = replace(checked.running, facts=panel.facts)
    return export_resolved(running, target, panel.datasets, with_, file=file)


def refusals(checked: Checked, datasets: Datasets) -> dict[str, str]:
    """Return why a valid graph cannot be exported, for each target that cannot represent it."""
    found = {}
    for entry in entry_names():
        target, _, with_ = entry.partition(_WITH)
        try:
            export_resolved(checked.running, target, datasets, with_)
        except (GraphExportError, DataError) as error:
            found[entry] = str(error)
    return found


def _no_code(fault: CodeFault) -> dict[str, Any]:
    return {"files": [], "notes": [], "highlighted": {}, "fault": fault, "download": b""}


class Exports:
    """Cached exports of the current graph, by target.

    If the graph cannot be exported, there is no code; the code of an earlier graph is never shown.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tried: dict[str, tuple[tuple[object, ...], Export | str]] = {}
        """Last attempt for each target: the values that it depended on, and the export or the
        reason why it failed.
        """
        self._of: tuple[Any, ...] = (None,) * 8
        """Values that ``_fields`` was computed from."""
        self._fields = _no_code(NO_FAULT)

    def fields(self, state: ViewState, layout: Layout, panel: DataPanel) -> dict[str, Any]:
        """Return the fields of the Code panel. While the panel is hidden, they contain no code."""
        shown = state.target, state.skip_bad, state.checked, layout, state.inspected
        of = *shown, panel.datasets, panel.facts, panel.found
        if any(a is not b for a, b in zip(of, self._of, strict=True)):
            in_view = state.code_in_view
            self._of = of if in_view else (None,) * len(of)
            self._fields = (
                self._build_fields(state, layout, panel) if in_view else _no_code(NO_FAULT)
            )
        return self._fields

    def _build_fields(self, state: ViewState, layout: Layout, panel: DataPanel) -> dict[str, Any]:
        found = self._export(state, layout, panel)
        if isinstance(found, dict):
            return _no_code(found)
        found = with_frame_comments(found, layout.frames.values())
        saved = with_embedded_graph(found, Document(state.checked.graph, layout))
        return {
            "files": [{"path": path, "text": file.text} for path, file in found.files.items()],
            "notes": [*found.notes],
            "highlighted": _highlighted(state, found),
            "fault": NO_FAULT,
            "download": _download(saved),
        }

    def _export(self, state: ViewState, layout: Layout, panel: DataPanel) -> Export | CodeFault:
        graph, checked = state.checked.graph, state.checked
        faults = blocking_faults(state)
        if not checked.sound or state.unread is not None:
            first = on_visible_nodes(checked.whole, layout, faults)[0]
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            return {"message": f"{str(first).strip()}{more}", "node": first.node}
        reason = self._try(checked, state.target, panel, state.skip_bad)
        if isinstance(reason, Export):
            return reason
        # the message starts with ``node: ...`` or ``node.arg: ...``
        named = reason.partition(":")[0].partition(".")[0]
        node = all_folded_generators(graph, self._catalog, layout).get(named, (named, ""))[0]
        return {"message": reason, "node": node if graph.has(node) else ""}

    def _try(self, checked: Checked, target: str, panel: DataPanel, skip_bad: bool) -> Export | str:
        """Export a valid graph. Return the export, or the reason why it failed."""
        made_from = checked, panel.datasets, panel.facts, skip_bad and panel.found
        before = self._tried.get(target)
        if before is not None and all(map(is_, before[0], made_from)):
            return before[1]
        found: Export | str
        try:
            found = _export(checked, target, panel, skip_bad)
        except (GraphExportError, DataError) as error:
            found = str(error)
        self._tried[target] = made_from, found
        return found


def _highlighted(state: ViewState, exported: Export) -> dict[str, list[int]]:
    """Return the line numbers of the selected node and its arguments' generators, by file."""
    graph = state.checked.graph
    if not graph.has(state.inspected):
        return {}
    inputs = graph.node(state.inspected).inputs.values()
    feeding = [port.node for port in inputs if random_view(state.checked.whole, port)]
    nodes = [state.inspected, *feeding]
    highlighted = {
        path: sorted({line for node in nodes for line in file.lines.get(node, ())})
        for path, file in exported.files.items()
    }
    return {path: lines for path, lines in highlighted.items() if lines}


def _download(exported: Export) -> bytes:
    return zip_archive(exported) if len(exported.files) > 1 else exported.main.text.encode()


def zip_archive(exported: Export) -> bytes:
    """Return the files of an export as a ZIP archive, which is identical for identical files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path, file in exported.files.items():
            entry = zipfile.ZipInfo(path)  # 1980, the first date of ZIP
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def exported_files(
    checked: Checked, target: str, document: Document, panel: DataPanel, skip_bad: bool, file: str
) -> Export:
    """Return the exported files with the graph embedded as a comment in the main file."""
    if not checked.sound:
        raise GraphEditError(f"The graph was not exported: {checked.faults[0]}")
    frames = document.layout.frames.values()
    made = with_frame_comments(_export(checked, target, panel, skip_bad, file), frames)
    return with_embedded_graph(made, replace(document, graph=checked.graph))


def with_frame_comments(export: Export, frames: Iterable[Frame]) -> Export:
    """Add the title of each group as a comment above its nodes in the exported Python files."""
    frames = list(frames)
    if not frames:
        return export
    files = {
        path: _commented(code, frames) if path.endswith(".py") else code
        for path, code in export.files.items()
    }
    return replace(export, files=files)


def _titles(frames: Iterable[Frame]) -> list[str]:
    """Return the titles of groups, outermost first. Groups without common nodes share a line."""
    made: list[tuple[Frame, str]] = []
    for frame in sorted(frames, key=lambda frame: -len(frame.nodes)):
        title = " ".join(frame.title.split())
        if made and not {*made[-1][0].nodes} & {*frame.nodes}:
            title = f"{made.pop()[1]}, {title}"
        made.append((frame, title))
    return [title for _, title in made]


def _commented(code: Code, frames: Iterable[Frame]) -> Code:
    text = code.text.split("\n")
    titles: dict[int, list[Frame]] = {}
    for frame in frames:
        starts = [code.lines[node].start for node in frame.nodes if code.lines.get(node)]
        if starts:
            titles.setdefault(min(starts), []).append(frame)
    made: list[str] = []
    moved: dict[int, int] = {}
    for number, line in enumerate(text, 1):
        indent = line[: len(line) - len(line.lstrip())]
        made += [f"{indent}# {title}" for title in _titles(titles.get(number, ()))]
        made.append(line)
        moved[number] = len(made)
    lines = {
        node: range(moved[at.start], moved[at.stop - 1] + 1) if at else at
        for node, at in code.lines.items()
    }
    return Code("\n".join(made), lines)
