"""The app behind a reverse proxy that strips a prefix which the app does not know."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Response, expect

from tests.ui.access.client import AppServer
from tests.ui.access.conftest import TOKEN
from tests.ui.access.reverse_proxy import reverse_proxy
from tests.ui.hosts import PATIENCE, await_mean, part

pytestmark = pytest.mark.xdist_group("access")


@pytest.mark.browser
def test_the_app_works_below_a_prefix_that_a_proxy_strips(app: AppServer, page: Page) -> None:
    responses: list[Response] = []
    page.on("response", lambda response: responses.append(response))
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    with reverse_proxy(app.port) as base:
        page.goto(base)
        page.wait_for_url(f"{base}/login")
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_have_text("That is not the token.")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        expect(part(page, "preview")).to_have_attribute("data-sheet", "1", timeout=PATIENCE)
        await_mean(page, least=1)
        (cookie,) = page.context.cookies()
        base_path = "/" + base.split("/", 3)[3]
        assert page.url == f"{base}/"
        assert cookie.get("path") == base_path
        assert all(url.startswith(base.replace("http", "ws", 1)) for url in sockets)
        # Chromium requests the icon of the host by itself.
        asked = [r for r in responses if not r.url.endswith(("/favicon.ico", "/favicon.svg"))]
        assert [r.url for r in asked if r.status >= 400] == [f"{base}/login"]
        outside = [r.url for r in asked if not r.url.startswith((base, "blob:"))]
        assert not outside
        page.goto(base)
        page.wait_for_url(f"{base}/")
        page.goto("about:blank")
