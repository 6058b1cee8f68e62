"""Actions of the data panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.catalog.spec import Catalog
from workbench.graph.annotations.follower_edits import with_masks
from workbench.graph.storage.layout import Document
from workbench.ui.contract.action import Action, DocumentEdit, Edited

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel
    from workbench.ui.state.view_state import ViewState


class OpenFolder(Action, tag="open", frozen=True):
    """Open another data folder."""

    path: str

    def apply(self, model: ViewModel) -> str:
        return model.open_data(model.data_panel.with_path(self.path))


class OpenData(OpenFolder, tag="open_folder", frozen=True):
    """Open another data folder from a dialog, which shows the reason if that fails."""

    def apply(self, model: ViewModel) -> str:
        super().apply(model)
        return ""


class AddRoot(Action, tag="add_root", frozen=True):
    """Open data outside the roots after the user has confirmed; its folder becomes a root."""

    path: str

    def apply(self, model: ViewModel) -> str:
        """Add the folder to the roots and open the data.

        Raises DataError if no roots may be added, or if the path does not exist.
        """
        if model.roots is not None:
            model.roots.add(self.path)
            model.engine.set_environment(model.roots.environment)
        model.open_data(model.data_panel.with_path(self.path))
        return ""  # the dialog shows a refusal


class UseGoodFiles(Action, tag="use_good", frozen=True):
    """Open the data without the files that the last check found bad or damaged."""

    def apply(self, model: ViewModel) -> str:
        path = model.data_panel.write_good()
        refused = model.open_data(model.data_panel.with_path(path))
        return refused or f"Opened {path}, without the bad files."


class OutputMasks(DocumentEdit, tag="give_masks", frozen=True):
    """Add the masks of the annotations as a graph output, transformed like the image."""

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Return the graph with the mask output, and the nodes to select.

        Raises GraphEditError if the data set has no masks.
        """
        edited = with_masks(document.graph, catalog)
        given = (
            edited.outputs[name] for name in edited.outputs if name not in document.graph.outputs
        )
        return document.with_graph(edited), [port.node for port in given]


class BrowseFolders(Action, tag="browse", frozen=True):
    """List the subfolders of a folder."""

    path: str
    """Path of the folder; empty for the folder that contains the data."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.browse(self.path)


class CountSamples(Action, tag="count", frozen=True):
    """Pause or resume counting the samples."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.toggle_count()


class CheckFolder(Action, tag="check", frozen=True):
    """Start, resume or stop the check for files that cannot be read."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.check()


class MakeReport(Action, tag="report", frozen=True):
    """Create the report of the last file check for download."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.make_report()
