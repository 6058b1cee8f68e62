"""The graph as code for the chosen target: what the code panel shows, copies and saves.

The titles of frames stand as comments above the first line of what they frame.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import is_
from pathlib import Path
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
from workbench.errors import DataError, GraphEditError, GraphExportError, OverwriteError
from workbench.files import encode_text, require_new
from workbench.graph.edits.fragment import with_generators
from workbench.graph.storage.layout import Document, Frame, Layout, dump_document
from workbench.health import FolderCheck
from workbench.roots import Roots
from workbench.sources import data_facts
from workbench.ui.canvas.canvas_actions import all_folded_generators
from workbench.ui.canvas.canvas_views import on_drawn_nodes
from workbench.ui.contract.actions import bar, canvas, panels
from workbench.ui.contract.actions.base import tag_of
from workbench.ui.contract.views import CodeFault, OverwriteQuestion, TargetEntry, TextFile
from workbench.ui.data.data_panel import DataPanel
from workbench.ui.export.output_paths import OutputPath, with_suffix
from workbench.ui.inspector.argument_rows import random_view
from workbench.ui.state.view_state import Checked, ViewState, blocking_faults

LINE_END = b"\n"
_WITH = " with "
NO_FAULT = CodeFault(message="", node="")


def target_entries() -> list[TargetEntry]:
    """Every target with its line, and once more with each addition that it can come with."""
    entries: list[TargetEntry] = []
    for name in target_names():
        target = load_target(name)
        entries.append({"name": name, "about": target.about})
        for with_ in target.additions:
            about = f"{target.about}; with {ADDITIONS[with_]}"
            entries.append({"name": f"{name}{_WITH}{with_}", "about": about})
    return entries


def entry_names() -> list[str]:
    """What can be chosen, by name."""
    return [entry["name"] for entry in target_entries()]


def require_entry(name: str) -> None:
    """Raise GraphExportError where there is no such entry."""
    if name not in entry_names():
        target, _, with_ = name.partition(_WITH)
        load_target(target)
        raise GraphExportError(f"{target} cannot be exported with {with_!r}.")


def _export(
    checked: Checked, chosen: str, panel: DataPanel, skip_bad: bool, file: str = ""
) -> Export:
    """The export that an entry's name means, for a program of that file name."""
    target, _, with_ = chosen.partition(_WITH)
    if skip_bad:
        require_skips_bad(target)
        good = panel.good_data()
        facts = {name: data_facts(each) for name, each in good.datasets.items()}
        running = replace(checked.running, facts=facts)
        endings = good.endings
        made = export_resolved(running, target, good.datasets, with_, beside=endings, file=file)
        return replace(made, good=good)
    running = replace(checked.running, facts=panel.facts)
    return export_resolved(running, target, panel.datasets, with_, file=file)


def _no_code(fault: CodeFault) -> dict[str, Any]:
    return {"files": [], "notes": [], "highlighted": {}, "fault": fault, "download": b""}


class Exports:
    """The code of the present graph for each target that was looked at.

    Where the graph cannot be exported there is no code: never that of an earlier graph.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._tried: dict[str, tuple[tuple[object, ...], Export | str]] = {}
        """Target -> what was exported, and the code or the reason why there is none."""
        self._of: tuple[Any, ...] = (None,) * 8
        """What the fields are of."""
        self._fields = _no_code(NO_FAULT)

    def fields(self, state: ViewState, layout: Layout, panel: DataPanel) -> dict[str, Any]:
        """The panel's fields. While nobody looks, code that is out of date is dropped."""
        shown = state.target, state.skip_bad, state.checked, layout, state.inspected
        of = *shown, panel.datasets, panel.facts, panel.found
        if any(a is not b for a, b in zip(of, self._of, strict=True)):
            in_view = state.code_in_view
            self._of = of if in_view else (None,) * len(of)
            self._fields = self._look(state, layout, panel) if in_view else _no_code(NO_FAULT)
        return self._fields

    def _look(self, state: ViewState, layout: Layout, panel: DataPanel) -> dict[str, Any]:
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
        """The code of the present graph, or why it cannot go to the target."""
        graph, checked = state.checked.graph, state.checked
        faults = blocking_faults(state)
        if checked.source is None or state.unread is not None:
            first = on_drawn_nodes(checked.whole, layout, faults)[0]
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            return {"message": f"{str(first).strip()}{more}", "node": first.node}
        reason = self._try(checked, state.target, panel, state.skip_bad)
        if isinstance(reason, Export):
            return reason
        # the message begins with the place: ``node: ...`` or ``node.arg: ...``
        named = reason.partition(":")[0].partition(".")[0]
        node = all_folded_generators(graph, self._catalog, layout).get(named, (named, ""))[0]
        return {"message": reason, "node": node if graph.has(node) else ""}

    def _try(self, checked: Checked, target: str, panel: DataPanel, skip_bad: bool) -> Export | str:
        """The code of a sound graph, or why it cannot go there."""
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


def _highlighted(state: ViewState, found: Export) -> dict[str, list[int]]:
    """Lines of the selected node and of what feeds its arguments, for each file that has some."""
    graph = state.checked.graph
    if not graph.has(state.inspected):
        return {}
    inputs = graph.node(state.inspected).inputs.values()
    feeding = [port.node for port in inputs if random_view(state.checked.whole, port)]
    nodes = [state.inspected, *feeding]
    highlighted = {
        path: sorted({line for node in nodes for line in file.lines.get(node, ())})
        for path, file in found.files.items()
    }
    return {path: lines for path, lines in highlighted.items() if lines}


def _download(found: Export) -> bytes:
    """What a browser downloads: the one file, or all in a ZIP archive."""
    return zip_archive(found) if len(found.files) > 1 else found.main.text.encode()


def zip_archive(found: Export) -> bytes:
    """All files of an export as a ZIP archive; the same files give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for path, file in found.files.items():
            entry = zipfile.ZipInfo(path)  # of 1980, ZIP's first day
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def save_as(
    state: ViewState,
    document: Document,
    action: bar.SaveGraph | bar.ExportScript | bar.DownloadScript | panels.SaveCode,
    roots: Roots | None,
    panel: DataPanel,
) -> str:
    """Write the graph as JSON, as the script or as the chosen target. Returns what to tell.

    A script to be downloaded goes to ``state.script``. Where a file is there already
    ``state.overwrite`` asks whether it may be overwritten. Raises SaveError, GraphExportError, and
    GraphEditError where the graph cannot run, or where a list belongs next to what a browser keeps.
    """
    if isinstance(action, bar.DownloadScript):
        if state.skip_bad:
            raise GraphEditError("Save it: the list of good files belongs next to it")
        made = _exported(state.checked, "script", document, panel, False, action.file)
        state.script = TextFile(number=state.script["number"] + 1, text=made.main.text)
        return ""
    component = "code" if isinstance(action, panels.SaveCode) else "bar"
    target = state.target if component == "code" else "script"

    def write() -> str:
        if isinstance(action, bar.SaveGraph):
            output = OutputPath(action.path, ".json", roots, action.overwrite)
            return f"Saved {output.write(encode_text(dump_document(document), action.path))}"
        file = with_suffix(action.path, ".py").name
        exported = _exported(state.checked, target, document, panel, state.skip_bad, file)
        return _save_code(exported, action.path, roots, action.overwrite)

    return _ask_first(state, component, action, write)


def save_file_list(
    state: ViewState, found: FolderCheck | None, action: panels.SaveFileList, roots: Roots | None
) -> str:
    """Write DALI's ``file_list`` of what a check found good. As ``save_as``.

    Raises DataError where no file is good, and GraphEditError where nothing was checked.
    """
    if found is None:
        raise GraphEditError("Not written: check the files first, in the Data panel.")
    listed = found.good_list()

    def write() -> str:
        path = OutputPath(action.path, ".txt", roots, action.overwrite).write(listed)
        return f"Saved {path} with {listed.count(LINE_END):,} of {found.count:,} files"

    return _ask_first(state, "code", action, write)


def _ask_first(
    state: ViewState,
    component: str,
    action: bar.SaveGraph | bar.ExportScript | panels.SaveCode | panels.SaveFileList,
    write: Callable[[], str],
) -> str:
    """What ``write`` says; where a file is there already, the question whether to overwrite it."""
    asked, state.overwrite = state.overwrite, {}
    try:
        return write()
    except OverwriteError as error:
        question = OverwriteQuestion(
            number=max((each["number"] for each in asked.values()), default=0) + 1,
            do=tag_of(type(action)),
            path=action.path,
            message=f"{error.path} is there already.",
        )
        state.overwrite = {component: question}
        return str(error)


def _save_code(exported: Export, path: str, roots: Roots | None, overwrite: bool) -> str:
    """Write code: a file, or a new folder where a target has several.

    Returns what to tell. Raises OverwriteError and as ``save_as``.
    """
    files = exported.files
    if len(files) > 1:
        folder = OutputPath(path, "", roots).write_folder(
            {k: file.text for k, file in files.items()}
        )
        return f"Saved {len(files)} files in {folder}"
    (name, file), *_ = files.items()
    output = OutputPath(path, Path(name).suffix, roots, overwrite)
    exported.require_name(output.path)
    lists = _lists_beside(exported, output.path)
    if not overwrite:
        for place in (output.path, *lists):
            require_new(place)
    for place, content in lists.items():
        OutputPath(str(place), ".txt", roots, overwrite).write(content)
    saved = f"Saved {output.write(encode_text(file.text, path))}"
    return f"{saved} and {', '.join(place.name for place in lists)}" if lists else saved


def _lists_beside(exported: Export, program: Path) -> dict[Path, bytes]:
    """The lists of good files that a program reads from next to itself."""
    if exported.good is None:
        return {}
    beside = exported.beside(program)
    return {place: source.read_bytes() for place, source in exported.good.sources(beside).items()}


def _exported(
    checked: Checked, target: str, document: Document, panel: DataPanel, skip_bad: bool, file: str
) -> Export:
    """The files as they are saved, with the graph in the main one."""
    if checked.source is None:
        raise GraphEditError(f"Not exported: {checked.faults[0]}")
    frames = document.layout.frames.values()
    made = with_frame_comments(_export(checked, target, panel, skip_bad, file), frames)
    return with_embedded_graph(made, replace(document, graph=checked.graph))


def copy_code(state: ViewState, action: canvas.CopyCode) -> str:
    """Put the lines into ``state.copied_code``. Returns what to tell of nodes without any.

    Raises GraphEditError where the graph has no script, or the script nothing of these nodes.
    """
    checked = state.checked
    source = checked.source
    if source is None:
        raise GraphEditError(f"Not copied: {checked.faults[0]}")
    shown = checked.graph.at_scope(state.scope)
    chosen = [node for node in action.nodes if shown.has(node)]
    nodes = with_generators(shown, chosen) if action.nodes else source.lines
    text = source.excerpt(nodes)
    left_out = ", ".join(node for node in chosen if not source.lines.get(node))
    why = f"The script has no line for {left_out}: muted, or no output needs it."
    if not text:
        raise GraphEditError(why if left_out else "Not copied: these nodes are not of this graph.")
    state.copied_code = TextFile(number=state.copied_code["number"] + 1, text=text)
    return why if left_out else ""


def with_frame_comments(export: Export, frames: Iterable[Frame]) -> Export:
    """The export with a comment for each frame, in Python files with lines of its nodes."""
    frames = list(frames)
    if not frames:
        return export
    files = {
        path: _commented(code, frames) if path.endswith(".py") else code
        for path, code in export.files.items()
    }
    return replace(export, files=files)


def _titles(frames: Iterable[Frame]) -> list[str]:
    """The outermost first; of frames around the same lines, as of two views, in one."""
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
