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
    """The same, for a component that opens graphs too."""


class AddRoot(Action, tag="add_root", frozen=True):
    """Open data outside the roots, which the user has confirmed: their folder becomes a root."""

    path: str

    def apply(self, model: ViewModel) -> str:
        """Raises DataError where the folders are fixed, or there is none."""
        if model.roots is not None:
            model.roots.add(self.path)
            model.engine.set_environment(model.roots.environment)
        return model.open_data(model.data_panel.with_path(self.path))


class UseGoodFiles(Action, tag="use_good", frozen=True):
    """Open the data without the files that the last check found bad or damaged."""

    def apply(self, model: ViewModel) -> str:
        path = model.data_panel.write_good()
        refused = model.open_data(model.data_panel.with_path(path))
        return refused or f"Opened {path}, without the bad files."


class GiveMasks(DocumentEdit, tag="give_masks", frozen=True):
    """Give out the masks that the annotations have; they follow the image."""

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Select what gives the masks. Raises GraphEditError where there are none."""
        edited = with_masks(document.graph, catalog)
        given = (
            edited.outputs[name] for name in edited.outputs if name not in document.graph.outputs
        )
        return document.with_graph(edited), [port.node for port in given]


class BrowseFolders(Action, tag="browse", frozen=True):
    """List the folders in a folder."""

    path: str
    """Empty: around the data."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.browse(self.path)


class CountSamples(Action, tag="count", frozen=True):
    """Stop counting the data, or go on."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.toggle_count()


class CheckFolder(Action, tag="check", frozen=True):
    """Look for files that cannot be read."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.check()


class MakeReport(Action, tag="report", frozen=True):
    """Make the report of the last check, for the browser to keep."""

    def apply(self, model: ViewModel) -> None:
        model.data_panel.make_report()
