"""What the bar may ask of a session: to come back, to begin afresh, to open that of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from workbench.errors import GraphEditError, WorkbenchError
from workbench.preview import Preview
from workbench.ui.actions import bar
from workbench.ui.cell_source import cell_source
from workbench.ui.session_file import Session
from workbench.ui.session_keeper import SessionKeeper
from workbench.ui.views import CellEntry

if TYPE_CHECKING:
    from workbench.ui.view_model import ViewModel


class SessionActions:
    """The session of one view-model. Every method is called with the model's lock held."""

    def __init__(self, model: ViewModel, keeper: SessionKeeper | None, cell: str | None) -> None:
        """Without a ``keeper`` nothing is kept. ``cell``: as the view-model's."""
        self._model = model
        self._keeper = keeper
        self._given = model.history.document
        self._given_data = model.data_panel.datasets
        self._cell: CellEntry = {} if cell is None else {"after": cell}

    @property
    def owner(self) -> str:
        """Whose the session is (see ``owner.py``); empty where nothing is kept."""
        return self._keeper.owner if self._keeper is not None else ""

    def carry_out(self, action: bar.SessionAction) -> str:
        """Returns what to tell the user."""
        keeper = self._keeper
        match action:
            case bar.Attach():
                return self.attach(action.tab, action.kept)
            case bar.StartAfresh():
                return self._start_afresh()
            case bar.DescribeCell():
                source = cell_source(self._model.data_panel.datasets, self._model.graph)
                asked = self._cell.get("asked", 0) + 1
                self._cell = {**self._cell, "source": source, "asked": asked}
            case bar.Shown():
                self.release(action.opened)
            case bar.DismissRestored():
                if keeper is not None:
                    keeper.restored = {}
            case bar.ListRecent():
                if keeper is not None:
                    keeper.list_recent()
            case bar.OpenRecent():
                return self._open_recent(action.owner)
            case _:
                assert_never(action)
        return self._model.state.message  # what was said of something else stays

    def attach(self, tab: str, kept: Sequence[Mapping[str, Any]] = ()) -> str:
        """Go on where a tab or a notebook ended; then carry out what its page had still to send."""
        model, keeper, said = self._model, self._keeper, self._model.state.message
        found = keeper.attach(tab) if keeper is not None else None
        if keeper is not None:
            model.speed.own(keeper.owner)
        if keeper is not None and found is not None:
            before = model.data_panel.datasets
            said = self._resume(found.session) or said
            keeper.settle(found, before, model.data_panel.datasets)
        for entry in kept:
            component, field = str(entry.get("component")), entry.get("field")
            if isinstance(field, str):
                model.receive(component, field, entry.get("value"))
            else:
                model.act(component, entry)
        return said

    def follow(self) -> None:
        """Keep the present state, where anything of it has changed."""
        if self._keeper is not None:
            self._keeper.follow(self._model.data_panel.datasets)

    def pictured(self, preview: Preview) -> None:
        """Keep a small picture of it."""
        if self._keeper is not None:
            self._keeper.pictured(preview)

    def hold(self) -> None:
        """Keep nothing until a page has drawn what was opened just now."""
        if self._keeper is not None:
            self._keeper.hold()

    def release(self, opened: int | None = None) -> None:
        """Go on keeping; ``opened`` is the number of what a page has drawn, None: all of it."""
        if self._keeper is not None:
            self._keeper.release(opened)

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

    def close(self) -> None:
        """Write what waits, and nothing after it."""
        if self._keeper is not None:
            self._keeper.close()

    def _resume(self, session: Session) -> str:
        model = self._model
        model.history.restore(session.document, session.before, session.undone)
        model.state.scope, model.state.selected = session.scope, list(session.selected)
        places = {name: data.location for name, data in model.data_panel.datasets.items()}
        if not session.data or not all(session.data.values()) or dict(session.data) == places:
            return ""
        try:
            return model.open_data(session.data)
        except WorkbenchError as error:  # a folder that this server may not open
            return str(error)

    def _start_afresh(self) -> str:
        """What was given; undo leads back to what was restored."""
        model = self._model
        if self._keeper is not None:
            self._keeper.restored = {}
        said = model.replace(self._given)
        if model.data_panel.datasets != self._given_data:
            return model.open_data(self._given_data) or said
        return said

    def _open_recent(self, owner: str) -> str:
        found = self._keeper.find(owner) if self._keeper is not None else None
        if found is None:
            raise GraphEditError("That session is there no more. Open the list again.")
        said = self._model.replace(found.session.document)
        data = found.session.data
        return (self._model.open_data(data) if data and all(data.values()) else "") or said
