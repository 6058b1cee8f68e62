"""What the bar may ask for."""

from __future__ import annotations

from workbench.ui.actions.base import Action, Redo, SelectNode, Undo


class NewGraph(Action, tag="new", frozen=True):
    """Begin with an empty graph."""


class SetTitle(Action, tag="title", frozen=True):
    """Give the graph another name."""

    name: str


class OpenRecipe(Action, tag="recipe", frozen=True):
    """Open a recipe."""

    name: str


class OpenText(Action, tag="open", frozen=True):
    """Open a graph file."""

    text: str
    """The file's content."""


class OpenPicture(Action, tag="open_picture", frozen=True):
    """Open the graph of a shared picture."""

    data: str
    """base64 of the PNG, at least up to its pixels."""


class Resume(Action, tag="resume", frozen=True):
    """Go on where the page before this one ended."""

    session: str
    """Which that page had."""


class Share(Action, tag="share", frozen=True):
    """Draw the picture to share."""


class SaveGraph(Action, tag="save", frozen=True):
    """Write the graph's JSON."""

    path: str
    """In the working folder, or absolute."""
    overwrite: bool = False
    """Whether the user was asked about a file that is there."""


class ApplyFix(Action, tag="fix", frozen=True):
    """Carry out what a fault offers."""

    node: str
    arg: str
    fix: str
    """A label of the fault's fixes."""


class ExportScript(Action, tag="export", frozen=True):
    """Write the script."""

    path: str
    """In the working folder, or absolute."""
    overwrite: bool = False
    """As of ``save``."""


class DownloadScript(Action, tag="download_script", frozen=True):
    """Make the script for the browser to keep."""


OpenAction = NewGraph | OpenRecipe | OpenText | OpenPicture
BarAction = (
    OpenAction | SetTitle | Resume | Share | SaveGraph | ApplyFix | ExportScript | DownloadScript
    | SelectNode | Undo | Redo
)  # fmt: skip
