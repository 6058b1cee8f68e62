"""Workbench as a web app: Panel serves the shared components to users with the token."""

from __future__ import annotations

import json
import math
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import panel as pn
import param
from panel.custom import AnyWidgetComponent
from panel.io.resources import COMPONENT_PATH, component_resource_path
from panel.io.threads import StoppableThread
from tornado.ioloop import IOLoop

from workbench.catalog import load_catalog
from workbench.errors import WorkbenchError
from workbench.results import ResultDocument
from workbench.roots import Roots, data_folder, default_roots
from workbench.sources import Dataset
from workbench.ui.access import (
    AccessContext,
    AccessCookie,
    AccessPolicy,
    guard_handlers,
    open_in_browser,
)
from workbench.ui.access.session_limit import MAX_SESSIONS, SessionLimit
from workbench.ui.access.websocket_log import log_malformed_messages_in_one_line
from workbench.ui.app.page_updates import apply_at_once, in_one_message, scheduler
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import (
    COMPONENTS,
    LINK_FIELDS,
    TABS,
    Component,
    Field,
    bundle_path,
)
from workbench.ui.state.graph_argument import GraphLike, to_document
from workbench.ui.state.owner import OpenTabs
from workbench.ui.storage.autosave import state_folder

TITLE = "DALI Workbench"
Start = str | Path | Dataset
"""Type of the initial data: a path, or a dataset passed in Python."""
HAND_OVER = 0.0005
"""Seconds for which a thread may hold Python's GIL while another thread waits. A picture passes
through three threads, so the default of 5 ms would delay it noticeably.
"""
MOST_POSTED = 2**16
"""Maximum size of a request body in bytes. Only the login form sends a body."""

_PARAMS: dict[type, Any] = {
    str: param.String,
    bool: param.Boolean,
    int: param.Integer,
    float: param.Number,
    list: param.List,
    dict: param.Dict,
    bytes: param.Bytes,
}

# Light and dark follow the browser; the page requests nothing from outside.
_PAGE = """
{% extends base %}
{% block preamble %}
{{ super() }}
<script>
  // URLs are relative to the page; a reverse proxy may answer without the last slash.
  if (!location.pathname.endsWith("/")) {
    const page = new URL(location);
    page.pathname += "/";
    location.replace(page);
  }
</script>
{% endblock %}
{% block postamble %}
<style>
  :root { color-scheme: light dark; --page: #ffffff; }
  @media (prefers-color-scheme: dark) { :root { --page: #16191f; } }
  html, body { margin: 0; min-height: 100%; background: var(--page); }
  .wb-screen { height: 100vh; height: 100dvh; }
</style>
{% endblock %}
{% block contents %}
<main class="wb-screen">
  {{ embed(roots.bar) }}
  <div class="wb-screen-panes">
    <div class="wb-pane wb-pane-canvas">{{ embed(roots.canvas) }}</div>
    <div class="wb-pane wb-pane-inspector">{{ embed(roots.inspector) }}</div>
    <div class="wb-pane wb-pane-panels">
      {% for name in panels %}{{ embed(roots[name]) }}{% endfor %}
    </div>
  </div>
  {{ embed(roots.status) }}
</main>
{% endblock %}
"""


def _part_class(component: Component) -> type[AnyWidgetComponent]:
    fields = [
        *(field for field in component.fields if field.direction != "python"),
        *LINK_FIELDS,
    ]
    params = {field.name: _param(field) for field in fields}
    return type(
        component.name.capitalize(),
        (AnyWidgetComponent,),
        {
            "__doc__": component.doc,
            "_esm": bundle_path(component),
            # The browser loads a file as it is. Text would be sent over the socket and compiled by
            # Panel in the page, which takes seconds and breaks some minified code.
            "_bundle": bundle_path(component),
            "_server_change": apply_at_once,
            "_busy__ignore": list(params),
            **params,
        },
    )


def _is_text(field: Field) -> bool:
    """Return whether a field is sent as JSON text, which ``Link.get`` in the browser parses.

    Bokeh searches lists and dicts (but not text) several times for its own models, which takes
    0.1 s for the payload of a graph with 150 nodes.
    """
    return field.direction == "show" and isinstance(field.default, list | dict)


_TEXTS = {(of.name, field.name) for of in COMPONENTS for field in of.fields if _is_text(field)}


def _text(value: Any) -> str:
    """Serialise a value as JSON for browsers: NaN and infinities become strings, as in Jupyter."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_named(value))


def _named(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _named(item) for key, item in value.items()}
    return [_named(item) for item in value] if isinstance(value, list | tuple) else value


def _param(field: Field) -> Any:
    if _is_text(field):
        return param.String(default=json.dumps(field.default), doc=field.doc)
    if field.choices:
        return param.Selector(default=field.default, objects=list(field.choices), doc=field.doc)
    return _PARAMS[type(field.default)](default=field.default, doc=field.doc)


OPEN_TABS = OpenTabs()

PARTS = {component.name: _part_class(component) for component in COMPONENTS}
"""Panel class by component name."""

# Panel finds the file to serve by the class name in the module.
globals().update({part.__name__: part for part in PARTS.values()})


class PageParts:
    """Components of one page. Their fields can be set from any thread."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {
            name: part(margin=0, sizing_mode="stretch_width", workbench="page")
            for name, part in PARTS.items()
        }
        self._document = pn.state.curdoc
        self._schedule_apply = scheduler(self._document, self._apply)
        self._lock = threading.Lock()
        self._waiting: dict[str, dict[str, Any]] = {}
        self._loaded = False

    def open_chosen_tab(self) -> None:
        """Show the panel of the current tab, and switch panels whenever the tab changes."""
        self.parts["tabs"].param.watch(self._show_tab, "tab")
        self._show_tab()

    def _show_tab(self, event: object = None) -> None:
        for name in TABS:
            self.parts[name].visible = name == self.parts["tabs"].tab

    def publish(self, component: str, field: str, value: Any) -> None:
        """Set a field in the document's thread, together with other pending fields."""
        if field not in self.parts[component].param:  # only for notebook cells
            return
        if (component, field) in _TEXTS:
            value = _text(value)
        with self._lock:
            first = self._loaded and not self._waiting
            self._waiting.setdefault(component, {})[field] = value
        if first:
            self._schedule_apply()

    def on_load(self) -> None:
        """Apply changes that were made while the page was loading, which Bokeh would have lost."""
        with self._lock:
            self._loaded = True
        self._apply()

    def _apply(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        with in_one_message(self._document):
            for component, values in waiting.items():
                self.parts[component].param.update(**values)

    def listen(
        self,
        on_outbox: Callable[[str, Any], object],
        on_watched: Callable[[str], object],
        on_field: Callable[[str, str, Any], object],
    ) -> None:
        """Register callbacks for the outbox and for fields set by the page."""

        def on_fields(component: str, *events: param.parameterized.Event) -> None:
            for event in events:
                on_field(component, event.name, event.new)

        for component in COMPONENTS:
            name, watch = component.name, self.parts[component.name].param.watch
            watch(lambda event, name=name: on_outbox(name, event.new), "outbox")
            watch(lambda event, name=name: on_watched(name), "watched")
            both = [field.name for field in component.fields if field.direction == "both"]
            if both:
                watch(partial(on_fields, name), both)


class Session(PageParts):
    """One page with its view model and components."""

    def __init__(self, data: Start, graph: GraphLike, roots: Roots) -> None:
        super().__init__()
        self.model = ViewModel(
            data,
            graph,
            self.publish,
            roots=roots,
            claim=lambda tab: OPEN_TABS.claim(tab, self),
            connected=False,
            picture_first=True,
        )
        self._apply()
        pn.state.onload(self.on_load)
        self.listen(self.model.handle_outbox, self.model.heartbeat.watch, self.model.receive)

    def show_results(self, results: Sequence[ResultDocument]) -> None:
        """Add the results to the Results panel, open the panel, and select the first result."""
        for each in reversed(results):
            self.model.results.add(each)
        self.model.state.tab = "results"
        self._apply()

    def fill(self, page: pn.Template) -> None:
        """Add the components to the page."""
        self.open_chosen_tab()
        for name, part in self.parts.items():
            page.add_panel(name, part)
        page.add_variable("panels", ["tabs", *TABS])

    def on_load(self) -> None:
        with self._lock:
            self._loaded = True
        self.model.connect()
        self._apply()

    def is_connected(self) -> bool:
        """Return whether the page is open. After a reload, its old session remains for a while."""
        context: Any = self._document.session_context if self._document is not None else None
        session = context.session if context is not None else None
        return session is not None and session.connection_count > 0


def create_app(
    data: Start = ".",
    graph: GraphLike = None,
    limit: SessionLimit | None = None,
    roots: Roots | None = None,
    results: Sequence[ResultDocument] = (),
) -> pn.Template:
    """Create a page with its own view model. Both end with the session.

    If ``limit`` is reached, the page shows a message instead. ``roots`` are the folders below which
    the page may open and save files; None means the default roots of a local user. The Results
    panel lists ``results``. Raises GraphFormatError for an invalid graph.
    """
    if limit is not None and not limit.acquire():
        return limit.limit_page()
    try:
        session = Session(data, graph, roots or default_roots(_data_paths(data), loopback=True))
        if results:
            session.show_results(results)
    except BaseException:
        if limit is not None:
            limit.release()
        raise

    def end(context: object) -> None:
        try:
            session.model.close(leave_measurement=True)
        finally:
            if limit is not None:
                limit.release()

    pn.state.on_session_destroyed(end)
    page = pn.Template(_PAGE)
    session.fill(page)
    page.add_variable("app_title", TITLE)
    return page


def _data_paths(data: Start) -> list[str | Path]:
    """Return the paths of the data; empty for data in memory."""
    if isinstance(data, Dataset):
        return [data.location] if data.location else []
    return [data]


def serve(
    data: Start = ".",
    graph: GraphLike = None,
    port: int = 5006,
    access: AccessPolicy | None = None,
    roots: Sequence[str | Path] = (),
    browser: bool = False,
    max_sessions: int = MAX_SESSIONS,
    results: Sequence[ResultDocument] = (),
) -> None:
    """Serve the app until interrupted, and print the link with the token.

    Each page has its own graph and worker, with at most ``max_sessions`` pages at a time.
    ``access`` sets the address and the token; None allows only this machine. Pages may open and
    save files in the data and below ``roots``, by default the working folder and, on loopback, the
    home folder. With ``browser``, the link is opened in a browser. Each page lists ``results``.
    Raises WorkbenchError for a port in use, and GraphFormatError for an invalid graph.
    """
    start_server(
        data, graph, port, access, roots,
        browser=browser, max_sessions=max_sessions, results=results,
    )  # fmt: skip


def start_server(
    data: Start,
    graph: GraphLike,
    port: int,
    access: AccessPolicy | None = None,
    roots: Sequence[str | Path] = (),
    *,
    browser: bool = False,
    threaded: bool = False,
    max_sessions: int = MAX_SESSIONS,
    results: Sequence[ResultDocument] = (),
) -> Any:
    """Start the server, with the arguments of ``serve``.

    With ``threaded``, return the server's thread; stopping its event loop ends it.
    """
    policy = access or AccessPolicy()
    allowed = (
        Roots.of([*roots, *map(data_folder, _data_paths(data))])
        if roots
        else default_roots(_data_paths(data), policy.loopback)
    )
    source = None if graph is None else to_document(graph)
    _require_free(policy.host, port)
    load_catalog()  # takes a second, so that the first visitor does not wait
    print(f"DALI Workbench: {policy.link(port)}", flush=True)
    loop = IOLoop(make_current=False) if threaded else IOLoop.current()

    limit = SessionLimit(max_sessions)

    def app() -> pn.Template:
        return create_app(data, source, limit, allowed, results)

    def run() -> None:
        sys.setswitchinterval(HAND_OVER)
        server = _guarded_server(app, policy, port, loop)
        server.start()
        with open_in_browser(policy.link(port)) if browser else nullcontext():
            loop.start()

    if not threaded:
        return run()
    thread = StoppableThread(io_loop=loop, owns_loop=True, target=run)
    thread.start()
    return thread


def _guarded_server(
    app: Callable[[], pn.Template], policy: AccessPolicy, port: int, loop: IOLoop
) -> Any:
    """Return a Panel server that refuses requests according to ``policy``."""
    cookie = AccessCookie(state_folder(), policy.token if policy.lasting_token else "", port)
    server = pn.io.server.get_server(
        app,  # Panel treats a partial as an object to show
        address=policy.host,
        port=port,
        prefix=policy.prefix,
        loop=loop,
        show=False,
        start=False,
        title=TITLE,
        verbose=False,
        unused_session_lifetime_milliseconds=10_000,  # the worker of a closed page ends soon after
        check_unused_sessions_milliseconds=1_000,
        websocket_origin=[*policy.allow_hosts] or None,
        sign_sessions=True,
        secret_key=cookie.key,
        http_server_kwargs={"max_body_size": MOST_POSTED},
        include_headers=[],  # pages would expose request headers to every script
        include_cookies=[],
    )
    log_malformed_messages_in_one_line()
    guard_handlers(server._tornado, AccessContext(policy, cookie, _component_files()))
    return server


def _component_files() -> dict[str, Path]:
    bundles = {component.name: bundle_path(component) for component in COMPONENTS}
    paths = {
        component_resource_path(part, "_bundle_path", bundles[name]): bundles[name]
        for name, part in PARTS.items()
    }
    return {path.removeprefix(COMPONENT_PATH): bundle for path, bundle in paths.items()}


def _require_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise WorkbenchError(
                f"Port {port} of {host} is not available: {error.strerror}. "
                f"Choose another, for example --port {port + 1 if port < 65535 else 5007}."
            ) from None
