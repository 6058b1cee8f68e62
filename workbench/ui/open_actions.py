"""What the bar may ask to be opened: one function for each action.

Each takes the message of the outbox (untrusted JSON) and gives a document, or raises
GraphFormatError or GraphEditError. Nothing in a message is executed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable

from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.layout import Document, load_document
from workbench.graph.model import Graph, is_text
from workbench.graph.recipes import load_recipe
from workbench.preview.share import read_shared
from workbench.ui.argument_actions import Message, text_of

LONGEST_NAME = 200
_LARGEST_PICTURE = 8_000_000
"""Characters of base64: of a shared picture, the browser sends the part before the pixels."""


def _new(message: Message) -> Document:
    return Document(Graph())


def _recipe(message: Message) -> Document:
    return Document(load_recipe(text_of(message, "name")))


def _text(message: Message) -> Document:
    return load_document(text_of(message, "text"))


def _picture(message: Message) -> Document:
    data = text_of(message, "data")
    if len(data) > _LARGEST_PICTURE:
        raise GraphFormatError("This picture carries more than any graph would need.")
    try:
        picture = base64.b64decode(data, validate=True)
    except ValueError as error:  # also what binascii raises
        raise GraphFormatError(f"The picture came through damaged: {error}.") from None
    return load_document(read_shared(picture))


OPEN_ACTIONS: dict[str, Callable[[Message], Document]] = {
    "new": _new,
    "recipe": _recipe,
    "open": _text,
    "open_picture": _picture,
}


def new_name(message: Message) -> str:
    """The name that a graph is to have. Raises GraphEditError for what can be none."""
    name = " ".join(text_of(message, "name").split())
    if not name:
        raise GraphEditError("A graph needs a name.")
    if not is_text(name):
        raise GraphEditError(
            f"{ascii(name)[:60]} holds half a character (a lone surrogate), which no file can "
            "hold. Give another name."
        )
    if len(name) > LONGEST_NAME:
        raise GraphEditError(f"The name has {len(name)} characters; {LONGEST_NAME} are the limit.")
    return name
