"""CPU time of the tasks of a page's main thread, which other processes do not affect, unlike wall
time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

_CATEGORIES = ["toplevel", "devtools.timeline"]


@contextmanager
def traced_tasks(page: Page) -> Iterator[list[float]]:
    """Milliseconds of CPU time of each task of the pages' main threads; filled at the end."""
    browser = page.context.browser
    assert browser is not None
    tasks: list[float] = []
    browser.start_tracing(page=page, categories=_CATEGORIES)
    yield tasks
    events = json.loads(browser.stop_tracing())["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks += [
        event["tdur"] / 1000
        for event in events
        if event["name"].endswith("RunTask")
        and (event["pid"], event["tid"]) in main
        and "tdur" in event
    ]
