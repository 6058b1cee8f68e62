"""What all actions are, those that several components have, and how one is read."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from workbench.errors import GraphEditError


class Action(msgspec.Struct, frozen=True, tag_field="do"):
    """One thing that the browser may ask for; its tag is the ``do`` of the outbox's entry."""


class Undo(Action, tag="undo", frozen=True):
    """Take the last edit back."""


class Redo(Action, tag="redo", frozen=True):
    """Make the edit again that was taken back."""


class GoToStep(Action, tag="go_to", frozen=True):
    """Undo or redo up to a step of the history."""

    step: int
    """How many steps are to be done then."""


class Retry(Action, tag="retry", frozen=True):
    """Try again what failed."""


class ApplyFix(Action, tag="fix", frozen=True):
    """Carry out what a fault offers."""

    node: str
    arg: str
    fix: str
    """A label of the fault's fixes."""


class SelectNode(Action, tag="select", frozen=True):
    """Select a node in all components."""

    node: str


class OpenScope(Action, tag="open_scope", frozen=True):
    """Show a body of a block in place of the graph."""

    scope: str
    """``branch.then``; empty for the graph itself."""


def tag_of(kind: type[Action]) -> str:
    """The ``do`` of an action."""
    return str(kind.__struct_config__.tag)


def parse_action(
    component: str, kinds: Sequence[type[Action]], message: Mapping[str, Any]
) -> Action:
    """An entry of a component's outbox (untrusted JSON) as one of the ``kinds`` of its actions.

    Raises GraphEditError, naming the parameter, for what is none of them.
    """
    do = message.get("do")
    known = {tag_of(kind): kind for kind in kinds}
    if not isinstance(do, str) or do not in known:
        raise GraphEditError(
            f"{component} has no action {reprlib.repr(do)}. There are: {', '.join(known)}."
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
        raise GraphEditError(f"{component} cannot {do}: {found} is no text.") from None
