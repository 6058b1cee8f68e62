"""What the bar may ask of a session: to come back, to begin afresh, to open that of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.errors import GraphEditError, WorkbenchError
from workbench.graph.storage.layout import Document
from workbench.preview import PreviewResult
from workbench.roots import Roots
from workbench.ui.app.field_edits import restore_view
from workbench.ui.app.session_keeper import SessionKeeper
from workbench.ui.contract.action import Action
from workbench.ui.contract.views import CellEntry, KeptState
from workbench.ui.export.cell_source import cell_source
from workbench.ui.storage.autosave import Restored
from workbench.ui.storage.recent_work import recent_folders, recent_work
from workbench.ui.storage.session_file import Session

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class SessionActions:
    """The session of one view-model. Every method is called with the model's lock held."""

    def __init__(
        self,
        model: ViewModel,
        keeper: SessionKeeper | None,
        cell: str | None,
        roots: Roots | None = None,
    ) -> None:
        """Without a ``keeper`` nothing is kept. ``cell`` and ``roots``: as the view-model's."""
        self._model = model
        self._roots = roots
        self._keeper = keeper
        self._given = model.history.document
        self._restored: Document | None = None
        self._given_data = model.data_panel.datasets
        self._cell: CellEntry = {} if cell is None else {"after": cell}

    @property
    def owner(self) -> str:
        """Whose the session is (see ``owner.py``); empty where nothing is kept."""
        return self._keeper.owner if self._keeper is not None else ""

    def attach(
        self, tab: str, kept: Sequence[Mapping[str, Any]] = (), *, apply: bool = True
    ) -> str:
        """Restore the session of a tab or a notebook, then apply edits its page had not sent yet.

        Without ``apply`` the session's edits are offered, and the graph stays as it was given.
        """
        model, keeper, said = self._model, self._keeper, self._model.state.message
        found = keeper.attach(tab) if keeper is not None else None
        if keeper is not None:
            model.speed.own(keeper.owner)
        if keeper is not None and found is not None and not apply:
            keeper.offer(found, model.data_panel.datasets)
        elif keeper is not None and found is not None:
            before = model.data_panel.datasets
            said = self._resume(found.session) or said
            restore_view(model.state, found.session.view)
            if model.speed.run is None:  # one that goes on has opened its own part
                model.speed.set("part", model.state.speed_part)
            keeper.settle(found, before, model.data_panel.datasets)
        if keeper is not None:
            model.verification.attach(keeper.owner)
        for entry in kept:
            component, field = str(entry.get("component")), entry.get("field")
            if isinstance(field, str):
                model.receive(component, field, entry.get("value"))
            else:
                model.act(component, entry)
        return said

    def describe_cell(self) -> None:
        """Write the present graph as the code of a notebook's cell."""
        source = cell_source(self._model.data_panel.datasets, self._model.history.document)
        asked = self._cell.get("asked", 0) + 1
        self._cell = {**self._cell, "source": source, "asked": asked}

    def list_folders(self) -> None:
        """List the data folders of the sessions that were kept."""
        if self._keeper is not None:
            opened = self._model.data_panel.datasets.values()
            places = [data.location for data in opened]
            self._model.state.recent_folders = recent_folders(self._roots, places)

    def follow(self) -> None:
        """Keep the present state, where anything of it has changed."""
        self._model.state.speed_part = self._model.speed.part
        if self._keeper is not None:
            self._keeper.follow(self._model.data_panel.datasets)

    def pictured(self, preview: PreviewResult) -> None:
        """Keep a small picture of it."""
        if self._keeper is not None:
            self._keeper.pictured(preview)

    def find_recent(self, owner: str) -> Document | None:
        """The graph of a session that was kept; None where there is none."""
        found = self._keeper.find(owner) if self._keeper is not None else None
        return found.session.document if found is not None else None

    def list_recent(self) -> list[tuple[str, str]]:
        """The sessions that were kept: whose each is, and its name and time."""
        if self._keeper is None:
            return []
        found = recent_work(but=self._keeper.owner)
        return [(entry["owner"], f"{entry['name']} · {entry['when']}") for entry in found]

    def look_for_recent(self) -> None:
        """List the sessions of others in the bar."""
        if self._keeper is not None:
            self._keeper.list_recent()

    def hold(self) -> None:
        """Keep nothing until a page has drawn what was opened just now."""
        if self._keeper is not None:
            self._keeper.hold()

    def release(self, opened: int | None = None) -> None:
        """Go on keeping; ``opened`` is the number of what a page has drawn, None: all of it."""
        if self._keeper is not None:
            self._keeper.release(opened)

    def other_opened(self) -> None:
        """Another graph or other data are opened: what was restored is not reported any more."""
        if self._keeper is not None:
            self._keeper.other_opened()

    def set_aside(self, document: Document) -> None:
        """Rename the session's file if this document was restored from it and cannot be shown."""
        if self._keeper is not None and document is self._restored:
            self._keeper.autosave.set_aside()

    def fields(self) -> dict[str, Any]:
        """Of the bar."""
        keeper = self._keeper
        if keeper is None:
            return {"cell": self._cell}
        return {
            "tab": keeper.owner if keeper.attached else "",
            "restored": keeper.restored,
            "opened": keeper.opened,
            "recent": keeper.recent,
            "cell": self._cell,
        }

    @property
    def kept(self) -> KeptState:
        """Whether the edits outlive the session."""
        if self._keeper is None:
            return {
                "state": "not kept",
                "text": "not kept",
                "reason": "Edits end with this session.",
            }
        return self._keeper.state

    def close(self) -> None:
        """Write what waits, and nothing after it."""
        if self._keeper is not None:
            self._keeper.close()

    def _resume(self, session: Session) -> str:
        model = self._model
        self._restored = session.document
        model.history.restore(session.document, session.before, session.undone)
        model.state.scope, model.state.selected = session.scope, list(session.selected)
        places = {name: data.text for name, data in model.data_panel.datasets.items()}
        if not session.data or not all(session.data.values()) or dict(session.data) == places:
            return ""
        try:
            return model.open_data(session.data)
        except WorkbenchError as error:  # a folder that this server may not open
            return str(error)

    def start_afresh(self) -> str:
        """Show what was given; undo leads back to what was restored."""
        model = self._model
        self.withdraw_offer()
        said = model.replace(self._given, "start afresh")
        if model.data_panel.datasets != self._given_data:
            return model.open_data(self._given_data) or said
        return said

    def withdraw_offer(self) -> Restored | None:
        """Report nothing any more. Returns the edits that were offered."""
        return self._keeper.withdraw_offer() if self._keeper is not None else None

    def apply_kept(self) -> str:
        """Show the edits that are offered; undo returns to the present graph."""
        found = self.withdraw_offer()
        if found is None:
            raise GraphEditError("No earlier edits are offered.")
        return self._open_session(found.session)

    def open_recent(self, owner: str) -> str:
        """Open a copy of a session that was kept."""
        found = self._keeper.find(owner) if self._keeper is not None else None
        if found is None:
            raise GraphEditError("That session is there no more. Open the list again.")
        return self._open_session(found.session)

    def _open_session(self, session: Session) -> str:
        said = self._model.replace(session.document)
        data = session.data
        return (self._model.open_data(data) if data and all(data.values()) else "") or said


# What the bar may ask of a session. What was said of something else stays.


class AttachPage(Action, tag="attach", frozen=True):
    """Say which tab this page is, and what it still had to send when its server was lost."""

    tab: str
    """Its owner; empty for a tab that has none yet."""
    kept: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Edits with their ``component``, or values with ``component``, ``field`` and ``value``."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.attach(self.tab, self.kept)


class StartAfresh(Action, tag="start_afresh", frozen=True):
    """Show what was given, in place of what was restored."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.start_afresh()


class ApplyKept(Action, tag="apply_kept", frozen=True):
    """Show the edits that are offered; undo returns to the present graph."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.apply_kept()


class DismissRestored(Action, tag="dismiss_restored", frozen=True):
    """Say no longer what was restored."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.withdraw_offer()
        return model.state.message


class PageDrawn(Action, tag="shown", frozen=True):
    """Say that the page has drawn what was opened."""

    opened: int
    """The ``opened`` of the bar."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.release(self.opened)
        return model.state.message


class ListRecent(Action, tag="list_recent", frozen=True):
    """List the sessions that were kept."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.look_for_recent()
        return model.state.message


class ListFolders(Action, tag="list_folders", frozen=True):
    """List the data folders of the sessions that were kept."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.list_folders()
        return model.state.message


class OpenRecent(Action, tag="open_recent", frozen=True):
    """Open a copy of a session that was kept."""

    owner: str

    def apply(self, model: ViewModel) -> str:
        return model.sessions.open_recent(self.owner)


class DescribeCell(Action, tag="describe_cell", frozen=True):
    """Write the present graph as the code of a notebook's cell."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.describe_cell()
        return model.state.message
