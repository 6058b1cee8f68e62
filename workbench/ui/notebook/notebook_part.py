"""Widget of one part of the workbench: canvas, inspector, preview and others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from workbench.errors import EngineClosedError, GraphEditError
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS, LINK_FIELDS, Component, Field, bundle_path
from workbench.ui.contract.selected_samples import SelectedSamples
from workbench.ui.notebook.notebook_code import CLOSED, UnknownAttributesRaise
from workbench.ui.notebook.static_snapshot import StaticSnapshot

_UNECHOED = ("outbox", "watched")
_PICTURE_SECONDS = 10.0
"""Maximum seconds to wait for the picture of an edit when a cell reads the selected samples."""
_TICK = 0.005


class _OfPicture(traitlets.Any):
    """Trait that depends on the picture. Reading it waits until no picture is being rendered."""

    def get(self, obj: Any, cls: Any = None) -> Any:
        obj.wait_for_picture()
        return super().get(obj, cls)


_TRAITS: dict[type, Any] = {
    str: traitlets.Unicode,
    bool: traitlets.Bool,
    int: traitlets.Int,
    float: traitlets.Float,
    list: traitlets.List,
    dict: traitlets.Dict,
    bytes: traitlets.Bytes,
}


class Part(UnknownAttributesRaise, anywidget.AnyWidget):
    """Widget of one component. Its traits are the component's fields, for observing and linking.

    Values from the browser are handled with the view model's lock: while a cell runs, JupyterLab
    delivers them on a second thread.
    """

    _component: str
    _model: ViewModel | None = None
    _static_snapshot: StaticSnapshot | None = None
    _browser: int | None = None
    """Id of the thread that is setting a field to a value from the browser, or None."""
    _waiting: list[str] | None = None
    """Names of the fields to send together in one message; None to send each field immediately."""
    _publisher: int | None = None
    """Id of the thread that is setting the fields in ``_waiting``."""
    _shower: int | None = None
    """Id of the thread that is setting a field to a value from the view model, or None."""

    def set_state(self, sync_data: dict[str, Any]) -> None:
        if self._model is None:
            super().set_state(sync_data)
            return
        with self._model.lock:
            self._browser = threading.get_ident()
            try:
                super().set_state(sync_data)
            finally:
                self._browser = None

    def handle_field(self, component: str, field: str, value: Any) -> None:
        """Pass a field to the view model. Raises GraphEditError if a cell sets an invalid value."""
        assert self._model is not None
        if self._model.closed and self._browser != threading.get_ident():
            raise EngineClosedError(CLOSED)
        refused = self._model.receive(component, field, value)
        if refused and self._browser != threading.get_ident():
            raise GraphEditError(refused)

    def wait_for_picture(self) -> None:
        """Wait until no picture is being rendered, so that a cell reads the result of its edits."""
        publishes = self._waiting is not None and self._publisher == threading.get_ident()
        here = publishes or threading.get_ident() in (self._shower, self._browser)
        if here or self._model is None or self._model.closed:
            return
        until = time.monotonic() + _PICTURE_SECONDS
        while self._model.is_picture_due and time.monotonic() < until:
            time.sleep(_TICK)

    def show(self, field: str, value: Any) -> None:
        """Set a field to a value from the view model."""
        before, self._shower = self._shower, threading.get_ident()
        try:
            setattr(self, field, value)
        finally:
            self._shower = before

    def _only_shown(self, proposal: Any) -> Any:
        """Validate a field. Raises GraphEditError if a cell sets a read-only field."""
        field, value = proposal["trait"].name, proposal["value"]
        if self._model is None or threading.get_ident() in (self._shower, self._browser):
            return value
        if field != "selected":
            raise GraphEditError(f"w.{self._component}.{field} is read-only.")
        places = getattr(value, "places", value)
        self.set_trait("marked", [*places] if isinstance(places, Sequence) else places)
        return self.selected

    @contextmanager
    def one_message(self) -> Iterator[None]:
        """Send all fields set in this context in one message, so that the browser renders once.

        Unlike with ``hold_sync``, the heartbeat may set its field from another thread.
        """
        if self._waiting is not None:
            yield
            return
        self._waiting, self._publisher = [], threading.get_ident()
        try:
            yield
        finally:
            waiting, self._waiting = self._waiting, None
            self.send_state(dict.fromkeys(waiting))

    def _should_send_property(self, key: str, value: Any) -> bool:
        if not super()._should_send_property(key, value):
            return False
        if self._waiting is None or self._publisher != threading.get_ident():
            return True
        self._waiting.append(key)
        return False

    def _ipython_display_(self, **kwargs: Any) -> None:
        """Display the widget and, if it has pictures, its last picture for the saved notebook."""
        if self._model is not None and self._model.closed:
            display({"text/plain": repr(self)}, raw=True)
            return
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            display(bundle[0], metadata=bundle[1], raw=True)
        if self._component == "preview":
            self.show_static_snapshot()

    def show_static_snapshot(self) -> None:
        """Display the last picture in a separate output, for the saved notebook."""
        if self._static_snapshot and self._model and not self._model.data_panel.error:
            self._static_snapshot.show()

    def __repr__(self) -> str:
        if self._model is not None and self._model.closed:
            return f"<{self._component} panel, closed>"
        data = f" of {self._model.data_panel.chip}" if self._model else ""
        return f"<{self._component} panel{data}>"

    def open(self) -> None:
        super().open()
        self._let_browser_choose()

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        self._let_browser_choose()

    def _let_browser_choose(self) -> None:
        """Let the browser select the kernel thread that handles its messages.

        Otherwise ipykernel 7 uses the thread on which this widget last sent a message. On the main
        thread, messages would wait for the running cell; JupyterLab selects a free thread.
        """
        comm: Any = self.comm
        if comm is not None:
            vars(comm).pop("_reply_subshell_id", None)


def _part_class(component: Component) -> type[Part]:
    fields = [*component.fields, *LINK_FIELDS]
    traits = {field.name: _trait(field) for field in fields}
    members = {"__doc__": component.doc, "_esm": bundle_path(component), **traits}
    shown = [field.name for field in fields if field.direction != "both"]
    members["_refuse"] = traitlets.validate(*shown)(Part._only_shown)
    return type(component.name.capitalize(), (Part,), {**members, "_component": component.name})


def _trait(field: Field) -> Any:
    default = field.default
    trait: Any
    if isinstance(default, SelectedSamples):
        trait = _OfPicture(default, help=field.doc)
    elif field.choices:
        trait = traitlets.Enum(field.choices, default, help=field.doc)
    else:
        trait = _TRAITS.get(type(default), traitlets.Any)(default, help=field.doc)
    # No view uses the values that ipywidgets echoes, which would cost time on every key.
    return trait.tag(sync=field.direction != "python", echo_update=field.name not in _UNECHOED)


PARTS = {component.name: _part_class(component) for component in COMPONENTS}
"""Widget class by component name."""
