"""A host without a toolkit: it remembers what was published, and waits for what will be."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.preview.pictures.contact_sheet import decode
from workbench.ui.app.view_model import ViewModel

PATIENCE = 180.0


class Screen:
    """Give ``publish`` to a view-model; ``screen["bar", "title"]`` is what is shown."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._fields: dict[tuple[str, str], Any] = {}
        self.published: list[tuple[str, str]] = []

    def publish(self, component: str, field: str, value: Any) -> None:
        with self._condition:
            self._fields[component, field] = value
            self.published.append((component, field))
            self._condition.notify_all()

    def __getitem__(self, key: tuple[str, str]) -> Any:
        with self._condition:
            return self._fields[key]

    def wait(self, holds: Callable[[Screen], object], what: str) -> None:
        with self._condition:
            assert self._condition.wait_for(lambda: holds(self), PATIENCE), (
                f"{what}: not within {PATIENCE:g} s; status {self._fields['bar', 'status']}, "
                f"message {self._fields['bar', 'message']!r}, "
                f"speed {self._fields.get(('speed', 'message'))!r}"
            )

    def wait_ready(self) -> None:
        self.wait(lambda s: s["bar", "status"]["state"] == "ready", "ready")

    def wait_other_picture(self, than: bytes) -> None:
        self.wait(lambda s: s["preview", "picture"] not in (b"", than), "another picture")

    @property
    def picture(self) -> bytes:
        return bytes(self["preview", "picture"])

    @property
    def header(self) -> dict[str, Any]:
        return read_picture(self.picture)[0]

    def node(self, node_id: str) -> dict[str, Any]:
        found = [node for node in self["canvas", "nodes"] if node["id"] == node_id]
        assert len(found) == 1, f"{node_id} is not on the canvas"
        return dict(found[0])

    def row(self, arg: str) -> dict[str, Any]:
        found = [row for row in self["inspector", "node"]["rows"] if row["name"] == arg]
        assert len(found) == 1, f"{arg} is not in the inspector"
        return dict(found[0])


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON header of a packed field, and the bytes after it."""
    length = int.from_bytes(data[:4], "little")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def until(screen: Screen, place: tuple[str, str], holds: Callable[[dict[str, Any]], Any]) -> Any:
    """Header and bytes of a packed field, once the header is as wanted."""
    screen.wait(lambda s: s[place] and holds(unpack(s[place])[0]), " ".join(place))
    return unpack(screen[place])


def read_picture(picture: bytes) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """The header, and the sheet's pixels (height, width, 3)."""
    header, image = unpack(picture)
    return header, np.asarray(decode(image, header["mime"], tuple(header["sheet"])))


Ready = tuple[ViewModel, Screen]
"""A view-model and its screen."""
Make = Callable[..., Ready]
"""Makes a view-model and its screen."""


def ask(model: ViewModel, component: str, do: str, **parameters: Any) -> None:
    """Ask for an action of a component, as its page does."""
    model.act(component, {"do": do, **parameters})


def edit(model: ViewModel, do: str, **parameters: Any) -> None:
    ask(model, "inspector", do, **parameters)


def bar(model: ViewModel, do: str, **parameters: Any) -> None:
    ask(model, "bar", do, **parameters)
