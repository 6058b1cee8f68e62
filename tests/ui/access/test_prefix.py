"""The app below a prefix, by a name of a proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.access.client import AppServer
from tests.ui.access.conftest import TOKEN, served
from tests.ui.hosts import PATIENCE, part
from tests.ui.labserver import free_port


@pytest.mark.thorough
@pytest.mark.browser
def test_all_is_below_the_prefix(photos: Path, tmp_path: Path, page: Page) -> None:
    (tmp_path / "work").mkdir()
    app = AppServer(free_port(), TOKEN, photos, tmp_path / "work", tmp_path, tmp_path / "log")
    with served(app, "--prefix=/dali/wb", "--allow-host=photos.example.org"):
        page.goto(f"{app.origin}/dali/wb?token={TOKEN}")
        expect(part(page, "preview")).to_have_attribute("data-sheet", "1", timeout=PATIENCE)
        assert page.url == f"{app.origin}/dali/wb/"
        (cookie,) = page.context.cookies()
        assert cookie.get("path") == "/dali/wb/"
        for path in ("/", "/login", "/ws", "/static/js/bokeh.min.js", "/dali/", "/dali/wb2/"):
            assert app.ask(path, **app.known).status in (403, 404)
        by_proxy = {
            "Host": "photos.example.org",
            "Origin": "https://photos.example.org",
            "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-Proto": "https",
        }
        answer = app.ask(f"/dali/wb/?token={TOKEN}", **by_proxy)
        assert answer.status == 200
        assert "Secure" in answer.headers["Set-Cookie"]
        assert "Path=/dali/wb/" in answer.headers["Set-Cookie"]
