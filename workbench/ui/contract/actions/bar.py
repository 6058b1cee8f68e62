"""What the bar may ask for."""

from __future__ import annotations

from typing import Any

import msgspec

from workbench.ui.contract.actions.base import Action, ApplyFix, GoToStep, Redo, SelectNode, Undo


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


class AttachPage(Action, tag="attach", frozen=True):
    """Say which tab this page is, and what it still had to send when its server was lost."""

    tab: str
    """Its owner; empty for a tab that has none yet."""
    kept: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Edits with their ``component``, or values with ``component``, ``field`` and ``value``."""


class StartAfresh(Action, tag="start_afresh", frozen=True):
    """Show what was given, in place of what was restored."""


class ApplyKept(Action, tag="apply_kept", frozen=True):
    """Show the edits that are offered; undo returns to the present graph."""


class DismissRestored(Action, tag="dismiss_restored", frozen=True):
    """Say no longer what was restored."""


class PageDrawn(Action, tag="shown", frozen=True):
    """Say that the page has drawn what was opened."""

    opened: int
    """The ``opened`` of the bar."""


class ListRecent(Action, tag="list_recent", frozen=True):
    """List the sessions that were kept."""


class ListFolders(Action, tag="list_folders", frozen=True):
    """List the data folders of the sessions that were kept."""


class OpenRecent(Action, tag="open_recent", frozen=True):
    """Open a copy of a session that was kept."""

    owner: str


class DescribeCell(Action, tag="describe_cell", frozen=True):
    """Write the present graph as the code of a notebook's cell."""


class Share(Action, tag="share", frozen=True):
    """Draw the picture to share."""


class SaveGraph(Action, tag="save", frozen=True):
    """Write the graph's JSON."""

    path: str
    """In ``save_folder``, or absolute."""
    overwrite: bool = False
    """Whether the user was asked about a file that is there."""


class ExportScript(Action, tag="export", frozen=True):
    """Write the script."""

    path: str
    """In ``save_folder``, or absolute."""
    overwrite: bool = False
    """As of ``save``."""


class DownloadScript(Action, tag="download_script", frozen=True):
    """Make the script for the browser to keep."""

    file: str = ""
    """Under which name it keeps it: the script's usage line has it."""


SessionAction = (
    AttachPage
    | StartAfresh
    | ApplyKept
    | DismissRestored
    | PageDrawn
    | ListRecent
    | ListFolders
    | OpenRecent
    | DescribeCell
)
OpenAction = NewGraph | OpenRecipe | OpenText | OpenPicture
BarAction = (
    OpenAction | SessionAction | SetTitle | Share | SaveGraph | ApplyFix | ExportScript
    | DownloadScript
    | SelectNode | Undo | Redo | GoToStep
)  # fmt: skip
