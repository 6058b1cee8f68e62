"""Autosave and restore the session of a view model, and list recent sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.errors import DataError, GraphEditError, WorkbenchError
from workbench.graph.storage.layout import Document
from workbench.preview import PreviewResult
from workbench.roots import Roots
from workbench.sources import Datasets, open_datasets
from workbench.sources.dataset import REMOTE
from workbench.ui.app.field_edits import restore_view, view_settings
from workbench.ui.contract.action import Action
from workbench.ui.contract.payloads import AutosaveState, CellEntry, RecentEntry, RestoredEntry
from workbench.ui.export.cell_source import cell_source
from workbench.ui.state.owner import is_owner, new_owner
from workbench.ui.storage.autosave import Autosave, Restored
from workbench.ui.storage.recent_work import recent_folders, recent_work, small_picture
from workbench.ui.storage.session_file import Session, data_of

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

Claim = Callable[[str], str]
"""``claim(tab)`` returns the owner of the session that a page with the tab id ``tab`` uses.

``tab`` is empty for a new tab.
"""


def reported_tab(tab: str) -> str:
    """Return ``tab`` if it is a valid owner, else a new owner. Used by hosts with a single page."""
    return tab if is_owner(tab) else new_owner()


class ModelSession:
    """Session of one view model. Call methods with the model's lock held.

    Every change is stored. A graph opened from outside is stored only after a page has rendered it
    or the user has edited it; otherwise a graph that crashes the page or the server would do so
    again after a restart.
    """

    def __init__(
        self,
        model: ViewModel,
        autosave: Autosave | None,
        claim: Claim,
        cell: str | None,
        roots: Roots | None = None,
    ) -> None:
        """If ``autosave`` is None, nothing is stored.

        The other parameters are those of ``ViewModel``.
        """
        self._model = model
        self._autosave = autosave
        self._claim = claim
        self._roots = roots
        self._given = model.history.document
        self._given_data = model.data_panel.datasets
        self._cell: CellEntry = {} if cell is None else {"after": cell}
        self._attached = False
        self._restored: Document | None = None
        self._report: RestoredEntry = {}
        self._offered: Restored | None = None
        """Stored session that is offered to the user but not applied yet."""
        self._shared: Datasets = {}
        """Datasets that a shared graph names, and that open only after the user has confirmed."""
        self._recent: list[RecentEntry] = []
        self._opened = self._opens = 0
        """``_opened`` is the number of the opened graph that the page has not rendered yet, or 0.
        ``_opens`` is the last number assigned.
        """
        self._kept: Session | None = None
        self._copied = self._copied_aside = False

    @property
    def owner(self) -> str:
        """Owner of the session (see ``owner.py``); empty if nothing is stored."""
        return self._autosave.owner if self._autosave is not None else ""

    @property
    def saved_state(self) -> AutosaveState:
        """State of the autosave, with a label and an explanation for the user."""
        if self._autosave is None:
            reason = "Edits are lost when this session ends."
            return {"state": "off", "text": "not autosaved", "reason": reason}
        if self._opened:
            reason = "The graph is saved automatically once it is displayed."
            return {"state": "waiting", "text": "not autosaved yet", "reason": reason}
        if reason := self._autosave.failure:
            return {"state": "not kept", "text": "not autosaved", "reason": reason}
        return {"state": "kept", "text": "autosaved on this machine", "reason": ""}

    def fields(self) -> dict[str, Any]:
        """Return the values of the bar's fields that depend on the session."""
        if self._autosave is None:
            return {"cell": self._cell}
        return {
            "tab": self.owner if self._attached else "",
            "restored": self._report,
            "opened": self._opened,
            "recent": self._recent,
            "cell": self._cell,
        }

    def attach(
        self, tab: str, unsent: Sequence[Mapping[str, Any]] = (), *, apply: bool = True
    ) -> str:
        """Restore the session of a tab or notebook, then apply edits that its page could not send.

        With ``apply=False``, the stored session is only offered, and the graph does not change.
        Return a message.
        """
        model, note = self._model, self._model.state.message
        if self._autosave is not None:
            found = self._find_own(self._autosave, tab)
            model.speed.adopt_session(self.owner)
            if found is not None and apply:
                note = self._restore(found) or note
            elif found is not None:
                self._offer(found)
            model.verification.attach(self.owner)
            model.versions.attach(self.owner)
        for entry in unsent:
            component, field = str(entry.get("component")), entry.get("field")
            if isinstance(field, str):
                model.receive(component, field, entry.get("value"))
            else:
                model.act(component, entry)
        return note

    def _find_own(self, autosave: Autosave, tab: str) -> Restored | None:
        """Attach to the session of a tab or notebook. Return its stored content, or None."""
        owner = self._claim(tab)
        self._attached = True
        if owner == autosave.owner:  # a page that renders its bar again reports its tab again
            return None
        found = autosave.attach(owner, tab if is_owner(tab) else owner)
        self._copied = found is not None and autosave.owner != tab
        return found

    def _restore(self, stored: Restored) -> str:
        model, session = self._model, stored.session
        before = model.data_panel.datasets
        note = self._resume(session)
        restore_view(model.state, session.view)
        if model.speed.run is None:  # a running measurement has opened its own part
            model.speed.set("part", model.state.speed_part)
        self._kept = self._session()
        if session.edited or dict(before) != dict(model.data_panel.datasets):
            self._report = {"text": str(stored)}
        if self._copied and self._autosave is not None:
            self._autosave.changed(self._kept)
        return note

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

    def _offer(self, stored: Restored) -> None:
        self._kept = self._session()
        if stored.session.before and stored.session.document.graph != self._model.graph:
            self._offered = stored
            self._report = {"text": stored.offer, "offered": True}

    def follow(self) -> None:
        """Store the session if it has changed."""
        self._model.state.speed_part = self._model.speed.part
        if self._autosave is None:
            return
        session, offered = self._session(), self._offered
        if self._kept is None:
            self._kept = session
        if offered is not None and session.document.graph == offered.session.document.graph:
            self.withdraw_offer()
        if self._opened or session == self._kept:
            return
        if self._offered is not None:
            if not session.edited:
                return  # the file still contains the offered edits
            if not self._copied_aside:
                self._copied_aside = True
                self._autosave.copy_aside()
        self._kept = session
        self._autosave.changed(session)

    def _session(self) -> Session:
        history, state = self._model.history, self._model.state
        return Session(
            history.document,
            history.before,
            history.undone,
            {name: dataset.text for name, dataset in self._model.data_panel.datasets.items()},
            tuple(state.selected),
            state.scope,
            view_settings(state),
        )

    def store_thumbnail(self, preview: PreviewResult) -> None:
        """Store a thumbnail of the preview with the session, if the session is being stored."""
        if self._autosave is not None and not self._opened:
            self._autosave.store_thumbnail(partial(small_picture, preview))

    def defer_saving(self) -> None:
        """Store nothing until a page has rendered the graph that was just opened."""
        self._opens += 1
        self._opened = self._opens

    def release(self, opened: int | None = None) -> None:
        """Resume storing after graph ``opened`` was rendered, or after any graph if it is None."""
        if opened is None or opened == self._opened:
            self._opened = 0

    def other_opened(self) -> None:
        """Clear the report about the restored session, because another graph was opened."""
        if self._offered is None:
            self._report = {}

    def withdraw_offer(self) -> Restored | None:
        """Clear the report about the restored session and return the session that was offered."""
        found, self._offered, self._report = self._offered, None, {}
        return found

    def set_aside(self, document: Document) -> None:
        """Rename the session's file if it contained ``document``, which cannot be displayed."""
        if self._autosave is not None and document is self._restored:
            self._autosave.set_aside()

    def close(self) -> None:
        """Write pending changes, and ignore later ones."""
        if self._autosave is not None:
            self._autosave.close()

    # Other sessions, and the initial graph

    def find(self, owner: str) -> Session | None:
        """Return the stored session of ``owner``, or None if there is none."""
        if self._autosave is None:
            return None
        found = self._autosave.read(self._autosave.folder / f"{owner}.json")
        return found.session if found is not None else None

    def recent(self) -> list[RecentEntry]:
        return recent_work(excluded_owner=self.owner) if self._autosave is not None else []

    def show_recent(self) -> None:
        self._recent = self.recent()

    def show_folders(self) -> None:
        """Show the data folders of stored sessions."""
        if self._autosave is not None:
            opened = self._model.data_panel.datasets.values()
            places = [data.location for data in opened]
            self._model.state.recent_folders = recent_folders(self._roots, places)

    def open_recent(self, owner: str) -> str:
        """Open a copy of the stored session of ``owner`` and return a message."""
        session = self.find(owner)
        if session is None:
            raise GraphEditError("This session no longer exists. Open the list again.")
        return self._open(session)

    def apply_offered(self) -> str:
        """Open the offered session and return a message. Undo returns to the current graph."""
        found = self.withdraw_offer()
        if found is None:
            raise GraphEditError("There are no earlier edits to restore.")
        return self._open(found.session)

    def _open(self, session: Session) -> str:
        note = self._model.replace(session.document)
        data = session.data
        return (self._model.open_data(data) if data and all(data.values()) else "") or note

    def open_shared(self, document: Document, text: str) -> str:
        """Open a shared graph, and the data named in ``text`` if possible. Return a message."""
        note, places = self._model.replace(document), data_of(text)
        if not places or not all(places.values()):
            return note
        try:
            self._shared = open_datasets(places)
        except DataError as error:
            return f"{note} Its data were not opened. {error}"
        if self._model.data_panel.reads(self._shared):
            return note
        outside = [data.place for data in self._shared.values() if REMOTE.match(data.location)]
        if outside:
            refused = f"{outside[0]} is on another machine."
        else:
            refused = self._model.open_data(self._shared)
            outside = [self._model.data_panel.view["outside"]]
        if refused:
            text = f"The data of this graph were not opened. {refused}"
            self._report = {"text": text, "choose": True, "outside": outside[0]}
        return note

    def open_shared_data(self) -> str:
        """Open the data of the shared graph, even outside the roots. Raises DataError on error."""
        model, shared = self._model, self._shared
        for data in shared.values():
            refused = model.roots.refusal(data.location) if model.roots is not None else ""
            if model.roots is not None and refused and not REMOTE.match(data.location):
                model.roots.add(data.location)
                model.engine.set_environment(model.roots.environment)
        return model.open_data(shared)

    def start_afresh(self) -> str:
        """Show the initial graph and return a message. Undo returns to the restored graph."""
        model = self._model
        self.withdraw_offer()
        note = model.replace(self._given, "start over")
        if model.data_panel.datasets != self._given_data:
            return model.open_data(self._given_data) or note
        return note

    def describe_cell(self) -> None:
        """Generate the code of a notebook cell that opens the current graph."""
        source = cell_source(self._model.data_panel.datasets, self._model.history.document)
        number = self._cell.get("asked", 0) + 1
        self._cell = {**self._cell, "source": source, "asked": number}


# Actions of the bar. They do not clear messages about other things.


class AttachPage(Action, tag="attach", frozen=True):
    """Attach a page to its session, and apply edits that it could not send to the lost server."""

    tab: str
    """Tab id stored by the page; empty if the page has none."""
    kept: list[dict[str, Any]] = msgspec.field(default_factory=list)
    """Unsent actions (each with its ``component``) and field values (``component``, ``field``,
    ``value``).
    """

    def apply(self, model: ViewModel) -> str:
        return model.sessions.attach(self.tab, self.kept)


class StartAfresh(Action, tag="start_afresh", frozen=True):
    """Show the initial graph instead of the restored one."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.start_afresh()


class ApplyOfferedEdits(Action, tag="apply_kept", frozen=True):
    """Open the offered session; undo returns to the current graph."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.apply_offered()


class OpenSharedData(Action, tag="open_shared_data", frozen=True):
    """Open the data of a shared graph after the user has confirmed; its folder becomes a root."""

    def apply(self, model: ViewModel) -> str:
        return model.sessions.open_shared_data()


class DismissRestored(Action, tag="dismiss_restored", frozen=True):
    """Dismiss the report about the restored session."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.withdraw_offer()
        return model.state.message


class PageRendered(Action, tag="shown", frozen=True):
    """Report that the page has rendered the graph that was opened last."""

    opened: int
    """Value of the bar's field ``opened``."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.release(self.opened)
        return model.state.message


class ListRecent(Action, tag="list_recent", frozen=True):
    """Request the list of stored sessions."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.show_recent()
        return model.state.message


class ListFolders(Action, tag="list_folders", frozen=True):
    """Request the list of data folders of stored sessions."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.show_folders()
        return model.state.message


class OpenRecent(Action, tag="open_recent", frozen=True):
    """Open a copy of a stored session."""

    owner: str

    def apply(self, model: ViewModel) -> str:
        return model.sessions.open_recent(self.owner)


class DescribeCell(Action, tag="describe_cell", frozen=True):
    """Generate the code of a notebook cell that opens the current graph."""

    def apply(self, model: ViewModel) -> str:
        model.sessions.describe_cell()
        return model.state.message
