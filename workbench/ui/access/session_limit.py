"""Limit the number of open pages per server, and build the page that is shown at the limit."""

from __future__ import annotations

import threading

import panel as pn

MAX_SESSIONS = 24
"""Default maximum number of open pages. Each uses about 20 MB in the server, plus a worker."""
RETRY_SECONDS = 10

_FULL_PAGE = """
{% extends base %}
{% block postamble %}
<meta http-equiv="refresh" content="{{ retry_seconds }}">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 36rem; }
</style>
{% endblock %}
{% block contents %}
<main>
  <h1>All places are taken</h1>
  <p>This DALI Workbench shows {{ max_sessions }} pages at a time, and that many are open. A place
  is free a few seconds after one of them is closed; this page tries again every
  {{ retry_seconds }} seconds.</p>
  <p>Who started the server can allow more: <code>workbench app --max-sessions {{ more }}</code></p>
</main>
{% endblock %}
"""


class SessionLimit:
    """Counts the sessions of a server. Thread-safe."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self.most = max_sessions
        self._lock = threading.Lock()
        self._open = 0

    def acquire(self) -> bool:
        """Count a new session and return True, or return False if the limit is reached."""
        with self._lock:
            if self._open >= self.most:
                return False
            self._open += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._open -= 1

    def limit_page(self) -> pn.Template:
        """Return the page that is shown when the limit is reached."""
        page = pn.Template(_FULL_PAGE)
        page.add_variable("app_title", "DALI Workbench: too many open pages")
        page.add_variable("max_sessions", self.most)
        page.add_variable("more", 2 * self.most)
        page.add_variable("retry_seconds", RETRY_SECONDS)
        return page
