"""Actions that the browser can request, as frozen structs with an ``apply`` method.

An action is declared in the package of its panel (``canvas/canvas_actions.py``,
``speed/speed_actions.py`` and others). ``app/actions.py`` lists the actions of each component, and
``frontend/src/payloads.ts`` is generated from that list.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.annotations.follower_edits import with_class_count
from workbench.graph.storage.layout import Document

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel
    from workbench.ui.state.view_state import ViewState

Edited = tuple[Document, list[str] | None]
"""The new document and the ids of the nodes to select, or None to leave the selection unchanged."""


class Action(msgspec.Struct, frozen=True, tag_field="do"):
    """Base class of requests from the browser. Its tag is ``do`` in the outbox entry."""

    def apply(self, model: ViewModel) -> str | None:
        """Apply the action, with the model's lock held. Return a message for the user, or None.

        Raises WorkbenchError if the action is not possible.
        """
        raise NotImplementedError


class DocumentEdit(Action, frozen=True):
    """Base class of actions that are one edit in the undo history."""

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Return the edited document. Raises GraphEditError if the edit is not possible."""
        raise NotImplementedError

    def edit_label(self) -> str:
        """Return the undo label; "" to derive it by comparing the documents before and after."""
        return ""

    def said(self) -> str:
        """Return a message for the user, or ""."""
        return ""

    def apply(self, model: ViewModel) -> str:
        model.sessions.release()
        before = model.history.document
        after, selected = self.edit(model.state, before, model.catalog)
        classes = len(model.data_panel.view["classes"])
        counted = with_class_count(before.graph, after.graph, classes)
        after = after if counted is after.graph else after.with_graph(counted)
        # edits of the same group, such as the values of one drag, are one step
        group = getattr(self, "group", "")
        model.history.push_document(after, group, None, self.edit_label())
        if selected is not None:
            model.state.selected, model.state.code_from_top = selected, False
        return self.said()


def tag_of(kind: type[Action]) -> str:
    """Return the value of ``do`` that identifies an action class."""
    return str(kind.__struct_config__.tag)


def parse_action(
    component: str, kinds: Sequence[type[Action]], message: Mapping[str, Any]
) -> Action:
    """Parse an outbox entry (untrusted JSON) as an action of one of the classes ``kinds``.

    Raises GraphEditError that names the invalid field.
    """
    do = message.get("do")
    known = {tag_of(kind): kind for kind in kinds}
    if not isinstance(do, str) or do not in known:
        raise GraphEditError(
            f"{component} has no action {reprlib.repr(do)}. Use one of: {', '.join(known)}."
        )
    try:
        return msgspec.convert(message, known[do])
    except msgspec.ValidationError as error:
        expected, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`").partition(".")[0].partition("[")[0]
        found = f"{name} is {reprlib.repr(message.get(name))}. " if name else ""
        raise GraphEditError(f"{component} cannot {do}: {found}{expected}.") from None
    except UnicodeEncodeError as error:  # half of a surrogate pair where a number is wanted
        found = reprlib.repr(error.object)
        raise GraphEditError(f"{component} cannot {do}: {found} is not text.") from None
