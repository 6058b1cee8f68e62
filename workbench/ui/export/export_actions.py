"""Actions that save files: the graph, its code for a target, and the list of good files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.emit.targets import Export
from workbench.errors import GraphEditError, OverwriteError
from workbench.files import encode_text, require_new
from workbench.graph.edits.fragment import with_generators
from workbench.graph.storage.layout import dump_document
from workbench.roots import Roots
from workbench.ui.contract.action import Action, tag_of
from workbench.ui.contract.payloads import OverwriteQuestion, TextFile
from workbench.ui.export.exports import choose_target, exported_files, refusals
from workbench.ui.export.output_paths import OutputPath, with_suffix
from workbench.ui.jobs.background_task import TaskListener, run_in_background
from workbench.ui.state.view_state import ViewState

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

LINE_END = b"\n"


class SaveAction(Action, frozen=True):
    """Base class: write a file. If it exists, ask the user whether to overwrite it.

    Raises SaveError, GraphExportError, and GraphEditError if the graph cannot run.
    """

    path: str
    """Path of the file, or of the folder for several files; relative paths are below
    ``save_folder``.
    """
    overwrite: bool = False
    """True if the user has agreed to overwrite the file."""

    component = "bar"

    def write(self, model: ViewModel) -> str:
        """Write the file and return a message. Raises OverwriteError if the file exists."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> str:
        pending, model.state.overwrite = model.state.overwrite, {}
        try:
            return self.write(model)
        except OverwriteError as error:
            question = OverwriteQuestion(
                number=max((each["number"] for each in pending.values()), default=0) + 1,
                do=tag_of(type(self)),
                path=self.path,
                message=f"{error.path} already exists.",
            )
            model.state.overwrite = {self.component: question}
            return str(error)


class SaveGraph(SaveAction, tag="save", frozen=True):
    """Save the graph as JSON."""

    def write(self, model: ViewModel) -> str:
        text = encode_text(dump_document(model.history.document), self.path)
        return f"Saved {OutputPath(self.path, '.json', model.roots, self.overwrite).write(text)}"


class SaveCode(SaveAction, tag="save", frozen=True):
    """Save the code for the selected target."""

    component = "code"

    def write(self, model: ViewModel) -> str:
        state, document = model.state, model.history.document
        file = with_suffix(self.path, ".py").name
        exported = exported_files(
            state.checked, state.target, document, model.data_panel, state.skip_bad, file
        )
        return _save_code(exported, self.path, model.roots, self.overwrite)


class FindRefusals(Action, tag="find_refusals", frozen=True):
    """Find the targets that cannot represent the graph, in the background."""

    def apply(self, model: ViewModel) -> None:
        state, checked = model.state, model.state.checked
        if not checked.sound or state.refusals_of is checked:
            return
        state.refusals, state.refusals_of = {}, checked

        def on_end(found: dict[str, str] | None, error_text: str) -> None:
            if state.refusals_of is checked and found is not None:
                state.refusals = found
                model.changed()

        run = partial(refusals, checked, model.data_panel.datasets)
        run_in_background("targets", run, TaskListener(model.lock, lambda: None, on_end))


class ShowCode(Action, tag="export", frozen=True):
    """Show the code for a target in the Code panel."""

    target: str

    def apply(self, model: ViewModel) -> None:
        """Select the target and open the panel. Raises GraphExportError for an unknown target."""
        choose_target(model.state, self.target)
        model.state.tab = "code"


class SaveFileList(SaveAction, tag="save_file_list", frozen=True):
    """Save a list of the usable files, which the exported program can read.

    Raises DataError if no file is usable, and GraphEditError if the files were not checked.
    """

    component = "code"

    def write(self, model: ViewModel) -> str:
        found = model.data_panel.found
        if found is None:
            raise GraphEditError("The files were not checked. Check them in the Data panel.")
        listed = found.good_list()
        path = OutputPath(self.path, ".txt", model.roots, self.overwrite).write(listed)
        return f"Saved {path} with {listed.count(LINE_END):,} of {found.count:,} files"


class DownloadCode(Action, tag="download", frozen=True):
    """Offer the code as a single file for download."""

    file: str
    """Name of the downloaded file, which the usage line in the code mentions."""

    def apply(self, model: ViewModel) -> None:
        """Create the file for download.

        Raises GraphEditError if the graph cannot run, or if the code needs a list of files.
        """
        state, document = model.state, model.history.document
        if state.skip_bad:
            raise GraphEditError(
                "The code reads a list of good files, which a download lacks. Save the code."
            )
        made = exported_files(
            state.checked, state.target, document, model.data_panel, False, self.file
        )
        state.script = TextFile(number=state.script["number"] + 1, text=made.main.text)


class CopyCode(Action, tag="copy_code", frozen=True):
    """Copy the lines of the exported script that create the given nodes."""

    nodes: list[str]
    """Ids of the nodes; empty for the whole graph."""

    def apply(self, model: ViewModel) -> str:
        return self.copy(model.state)

    def copy(self, state: ViewState) -> str:
        """Store the lines in ``state.copied_code``. Return a message about nodes without a line.

        Raises GraphEditError if the graph has no script, or the script has no line for these nodes.
        """
        checked = state.checked
        source = checked.source
        if source is None:
            raise GraphEditError(f"The code was not copied: {checked.faults[0]}")
        shown = checked.graph.at_scope(state.scope)
        chosen = [node for node in self.nodes if shown.has(node)]
        nodes = with_generators(shown, chosen) if self.nodes else source.lines
        text = source.excerpt(nodes)
        left_out = ", ".join(node for node in chosen if not source.lines.get(node))
        why = f"The script has no line for {left_out}: muted, or not connected to an output."
        if not text:
            not_here = "The code was not copied: this graph does not contain these nodes."
            raise GraphEditError(why if left_out else not_here)
        state.copied_code = TextFile(number=state.copied_code["number"] + 1, text=text)
        return why if left_out else ""


def _save_code(exported: Export, path: str, roots: Roots | None, overwrite: bool) -> str:
    """Write exported code to a file, or to a new folder if there are several files.

    Return a message. Raises OverwriteError and the errors of ``save_as``.
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
    """Return the lists of good files to write next to the program, by path."""
    if exported.good is None:
        return {}
    beside = exported.program_path(program)
    return {place: source.read_bytes() for place, source in exported.good.sources(beside).items()}
