"""Show a workbench that was created in Python, or parts of it, in the user's own Panel app.

Each page has its own components, which are updated from the traits of the widgets: a change on a
page or in a cell is visible on all pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import panel as pn
import param
from panel.custom import AnyWidgetComponent
from panel.viewable import Child, Children

from workbench.errors import ArgumentError
from workbench.ui.contract.components import COMPONENTS, LINK_FIELDS, TABS
from workbench.ui.web import PageParts

if TYPE_CHECKING:
    from workbench.ui.notebook.widget import Workbench

WHOLE = "all"

_FOLLOWED = {
    component.name: [
        field.name
        for field in (*component.fields, *LINK_FIELDS)
        if field.direction != "python" and field.name not in ("outbox", "watched", "workbench")
    ]
    for component in COMPONENTS
}
"""Names of the traits that pages display, by component."""


class Screen(AnyWidgetComponent):
    """Bar, panes and status line as in the web app, with edges that can be dragged.

    The panes are in one document, so that the bar's script, which arranges them, finds them. Panel
    1.9 renders all children of a component like the first one, so the parts are separate fields.
    """

    bar = Child()
    canvas = Child()
    inspector = Child()
    panels = Children()
    status = Child()
    tall = param.Integer(doc="Pixels.")
    stacked = param.Boolean()

    _esm = """
    export default {
      render({ view, el }) {
        const given = view.model_proxy; // only what it hands out is rendered
        const box = (name, ...children) => {
          const made = document.createElement("div");
          made.className = name;
          made.append(...children);
          return made;
        };
        const screen = box(
          given.stacked ? "wb-screen wb-screen-stacked" : "wb-screen",
          given.get_child("bar"),
          box(
            "wb-screen-panes",
            box("wb-pane wb-pane-canvas", given.get_child("canvas")),
            box("wb-pane wb-pane-inspector", given.get_child("inspector")),
            box("wb-pane wb-pane-panels", ...given.get_child("panels")),
          ),
          given.get_child("status"),
        );
        screen.style.height = `${given.tall}px`;
        el.append(screen);
      },
    };
    """


class PanelView(PageParts):
    """Components of one page that displays a workbench created in Python."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._applying = False
        for name, fields in _FOLLOWED.items():
            part = workbench._parts[name]
            for field in fields:
                self.publish(name, field, getattr(part, field))
            part.observe(self._follow, fields)
        model = workbench._model
        self.listen(model.handle_outbox, model.heartbeat.watch, self._set)
        self._apply()
        pn.state.onload(self.on_load)
        if self._document is not None and self._document.session_context is not None:
            pn.state.on_session_destroyed(self._end)

    def _follow(self, change: Any) -> None:
        self.publish(change["owner"]._component, change["name"], change["new"])
        if self._document is None and self._loaded:  # without a server there is no thread to do it
            self._apply()

    def _set(self, component: str, field: str, value: Any) -> None:
        if self._applying:
            return
        part = self._workbench._parts[component]
        part.set_state({field: value})
        if getattr(part, field) != value:  # refused: traitlets does not notify
            self._follow({"owner": part, "name": field, "new": getattr(part, field)})

    def _apply(self) -> None:
        self._applying = True
        try:
            super()._apply()
        finally:
            self._applying = False

    def _end(self, _: object) -> None:
        """Disconnect the closed page, and end the worker to free memory until the next edit."""
        if self._workbench._closed:
            return
        for name, fields in _FOLLOWED.items():
            self._workbench._parts[name].unobserve(self._follow, fields)
        self._workbench._model.release_worker()


def panel_view(workbench: Workbench, part: str, height: int) -> Any:
    """Return the whole workbench, or one part of it, for a Panel page."""
    if part != WHOLE and part not in _FOLLOWED:
        raise ArgumentError(
            f"panel: there is no part {part!r}. Use one of: {WHOLE}, {', '.join(_FOLLOWED)}."
        )
    view = PanelView(workbench)
    if part != WHOLE:
        return _with_hint(view.parts[part], f"w.{part}")
    view.open_chosen_tab()
    parts = view.parts
    screen: Any = Screen  # Panel's constructors have no types
    whole = screen(
        bar=parts["bar"],
        canvas=parts["canvas"],
        inspector=parts["inspector"],
        panels=[parts[name] for name in ("tabs", *TABS)],
        status=parts["status"],
        tall=height,
        stacked=workbench._stacked,
        sizing_mode="stretch_width",
        margin=0,
    )
    return _with_hint(whole, "w")


def _with_hint(view: Any, widget: str) -> Any:
    """Return the view, changed to show a hint in notebooks where Panel's extension is not loaded.

    The hint names the widget to use instead. Panel itself would display a warning and all fields.
    """
    bundle = view._repr_mimebundle_
    text = f"Put {widget} on the last line of a cell. For Panel, run panel.extension() first."

    def hint_or_bundle(include: object = None, exclude: object = None) -> Any:
        loaded = pn.extension._loaded
        return bundle(include, exclude) if loaded else {"text/plain": text}

    view._repr_mimebundle_ = hint_or_bundle
    return view
