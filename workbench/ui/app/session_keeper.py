"""What a view-model keeps of its session, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from workbench.preview import PreviewResult
from workbench.sources import Datasets
from workbench.ui.app.field_edits import view_settings
from workbench.ui.contract.views import KeptState, RecentEntry, RestoredEntry
from workbench.ui.state.history import History
from workbench.ui.state.owner import is_owner, new_owner
from workbench.ui.state.view_state import ViewState
from workbench.ui.storage.autosave import Autosave, Restored
from workbench.ui.storage.recent_work import recent_work, small_picture
from workbench.ui.storage.session_file import Session

Claim = Callable[[str], str]
"""``claim(tab)``: the owner of a page that says it is ``tab``; empty for a tab that is new."""


def own_tab(tab: str) -> str:
    """Every page is the owner that it says it is: for a host with one page."""
    return tab if is_owner(tab) else new_owner()


class SessionKeeper:
    """Writes a session whenever it has changed. Every method is called with the model's lock held.

    What was opened from outside is not kept before a page has drawn it, or an edit was made of it:
    what brings a page or the server down must not do so again at the next start.
    """

    def __init__(
        self,
        history: History,
        state: ViewState,
        tell: Callable[[str], None],
        claim: Claim = own_tab,
    ) -> None:
        self.autosave = Autosave(tell=tell)
        self.restored: RestoredEntry = {}
        self.offered: Restored | None = None
        """Earlier edits that were found and not applied."""
        self._copied_aside = False
        self.recent: list[RecentEntry] = []
        self.opened = 0
        """Number of the graph that a page has yet to draw; 0: there is none."""
        self._history = history
        self._state = state
        self._claim = claim
        self.attached = False
        """Whether it is known whose the session is."""
        self._kept: Session | None = None
        self._copied = False
        self._opens = 0

    @property
    def owner(self) -> str:
        """Whose this session is."""
        return self.autosave.owner

    @property
    def state(self) -> KeptState:
        """Whether the edits outlive the session."""
        if self.opened:
            reason = "What was opened is kept once it is on the screen."
            return {"state": "waiting", "text": "not kept yet", "reason": reason}
        if reason := self.autosave.failure:
            return {"state": "not kept", "text": "not kept", "reason": reason}
        return {"state": "kept", "text": "kept on this machine", "reason": ""}

    def attach(self, tab: str) -> Restored | None:
        """Become the session of a tab or a notebook. Returns what it left, to be shown."""
        owner = self._claim(tab)
        self.attached = True
        if owner == self.owner:  # a page that draws its bar anew says again what it is
            return None
        found = self.autosave.attach(owner, tab if is_owner(tab) else owner)
        self._copied = found is not None and self.owner != tab
        return found

    def follow(self, datasets: Datasets) -> None:
        """Keep the present state, where anything of it has changed."""
        session = self._session(datasets)
        if self._kept is None:
            self._kept = session
        if (
            self.offered is not None
            and session.document.graph == self.offered.session.document.graph
        ):
            self.withdraw_offer()
        if self.opened or session == self._kept:
            return
        if self.offered is not None:
            if not session.edited:
                return  # the file still holds the edits that are offered
            if not self._copied_aside:
                self._copied_aside = True
                self.autosave.copy_aside()
        self._kept = session
        self.autosave.changed(session)

    def settle(self, found: Restored, before: Datasets, datasets: Datasets) -> None:
        """Say what was found, now that it is shown; ``before`` are the data that were given."""
        self._kept = self._session(datasets)
        if found.session.edited or dict(before) != dict(datasets):
            self.restored = {"text": str(found)}
        if self._copied:
            self.autosave.changed(self._kept)

    def offer(self, found: Restored, datasets: Datasets) -> None:
        """Offer earlier edits without applying them."""
        self._kept = self._session(datasets)
        if found.session.before and found.session.document.graph != self._history.now:
            self.offered = found
            self.restored = {"text": found.offer, "offered": True}

    def other_opened(self) -> None:
        """Report no more what was restored: it is not what is open."""
        if self.offered is None:
            self.restored = {}

    def withdraw_offer(self) -> Restored | None:
        """Report nothing any more. Returns the edits that were offered."""
        found, self.offered, self.restored = self.offered, None, {}
        return found

    def hold(self) -> None:
        """Keep nothing until a page has drawn what was opened just now."""
        self._opens += 1
        self.opened = self._opens

    def release(self, opened: int | None = None) -> None:
        """Go on keeping: what was opened is on the screen."""
        if opened is None or opened == self.opened:
            self.opened = 0

    def pictured(self, preview: PreviewResult) -> None:
        """Keep a small picture of the session, where the session itself is kept."""
        if not self.opened:
            self.autosave.pictured(partial(small_picture, preview))

    def list_recent(self) -> None:
        """Look for the sessions of others."""
        self.recent = recent_work(but=self.owner)

    def find(self, owner: str) -> Restored | None:
        """The session of that owner, to be copied."""
        return self.autosave.read(self.autosave.folder / f"{owner}.json")

    def close(self) -> None:
        """Write what waits, and nothing after it."""
        self.autosave.close()

    def _session(self, datasets: Datasets) -> Session:
        history, state = self._history, self._state
        return Session(
            history.document,
            history.before,
            history.undone,
            {name: dataset.text for name, dataset in datasets.items()},
            tuple(state.selected),
            state.scope,
            view_settings(state),
        )
