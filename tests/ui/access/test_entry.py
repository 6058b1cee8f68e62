"""How a person gets in: the opened link, the cookie, a prefix, a reverse proxy."""

from __future__ import annotations

import stat
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response, expect

from tests.ui.access.client import AppServer
from tests.ui.access.conftest import TOKEN, served
from tests.ui.access.reverse_proxy import reverse_proxy
from tests.ui.hosts import PATIENCE, await_mean, part
from tests.ui.labserver import free_port
from workbench.ui.access import AccessCookie, open_in_browser

LINK = "http://127.0.0.1:5006/?token=secret&more"


def test_the_browser_is_told_the_token_by_a_file_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with open_in_browser(LINK):
        (address,) = opened
        assert "secret" not in address
        page = Path(urlsplit(address).path)
        assert "?token=secret&amp;more" in page.read_text()
        assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert not page.exists()


def test_no_browser_is_opened_where_there_is_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail(address))
    with open_in_browser(LINK):
        pass


def test_a_browser_stays_in_when_the_server_starts_again(tmp_path: Path) -> None:
    value = AccessCookie(tmp_path, "", 5006).make()
    assert AccessCookie(tmp_path, "", 5006).is_good(value)
    secret = tmp_path / "cookie-secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_no_cookie_is_good_elsewhere(tmp_path: Path) -> None:
    here = AccessCookie(tmp_path, "", 5006)
    value = here.make()
    assert not AccessCookie(tmp_path, "", 5007).is_good(value)
    assert not AccessCookie(tmp_path, "another token", 5006).is_good(value)
    assert not AccessCookie(tmp_path / "another-user", "", 5006).is_good(value)
    for forged in (None, "", "in", value[:-1], value.replace("1:0", "2:0"), value + "0", "é"):
        assert not here.is_good(forged)


@pytest.mark.parametrize("kind", ["readable", "short", "link", "folder"])
def test_a_secret_that_others_may_know_is_not_used(tmp_path: Path, kind: str) -> None:
    secret, known = tmp_path / "cookie-secret", tmp_path / "known"
    known.write_bytes(bytes(32))
    known.chmod(0o600)
    match kind:
        case "readable":
            secret.write_bytes(bytes(32))
            secret.chmod(0o644)
        case "short":
            secret.write_bytes(b"")
            secret.chmod(0o600)
        case "link":
            secret.symlink_to(known)
        case "folder":
            secret.mkdir()
    value = AccessCookie(tmp_path, "", 5006).make()
    assert not AccessCookie(tmp_path, "", 5006).is_good(value)  # each has one of its own


# The app below a prefix, by a name of a proxy.


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


# The app behind a reverse proxy that strips a prefix which the app does not know.


@pytest.mark.thorough
@pytest.mark.xdist_group("access")
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
        expect(page.get_by_role("alert")).to_have_text("Wrong token.")
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
