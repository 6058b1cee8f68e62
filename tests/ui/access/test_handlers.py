"""The door: raw requests to the app, as no browser of its own would send them."""

from __future__ import annotations

import base64

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from tests.ui.access.client import AppServer, run

pytestmark = pytest.mark.xdist_group("access")  # in one worker: one app for all of them

PATHS = (
    "/", "/ws", "/login", "/favicon.ico", "/static/js/bokeh.min.js",
    "/components/workbench.ui.web/Bar/_bundle_path/static/bar.js",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_name_that_was_made_to_lead_here_is_not_answered(app: AppServer, path: str) -> None:
    rebound = {"Host": f"evil.example:{app.port}", "Origin": f"http://evil.example:{app.port}"}
    answer = app.ask(path, **rebound, **app.known)
    assert answer.status == 403
    assert "--allow-host" in answer.text
    assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("path", PATHS)
def test_pages_elsewhere_get_nothing(app: AppServer, path: str) -> None:
    cookie = app.cookie()
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ):
        assert app.ask(path, Cookie=cookie, **headers).status == 403


@pytest.mark.parametrize(
    "module", ["unittest.__main__", "this", "antigravity", "workbench.cli", "os", "..", "tests"]
)
def test_no_address_names_a_module_that_is_imported(app: AppServer, module: str) -> None:
    for rest in ("a/b/c", "Bar/_bundle_path/static/bar.js", "path/_css/x"):
        assert app.ask(f"/components/{module}/{rest}", **app.known).status == 404
    assert app.ask("/login", **app.known).status == 303
    assert "Zen of Python" not in app.log.read_text()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../../../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/js/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static//etc/passwd",
        "/static/extensions/panel/../../../../../../../etc/passwd",
        "/static/extensions/panel/%2e%2e/%2e%2e/io/server.py",
        "/static/extensions/etc/passwd",
        "/components/workbench.ui.web/Bar/_bundle_path/static/../web.py",
        "/components/workbench.ui.web/Bar/_bundle_path//etc/passwd",
        "/components/workbench.ui.web/Bar/__doc__/web.py",
        "/login/../etc/passwd",
        "//etc/passwd",
        "/metadata", "/autoload.js?bokeh-autoload-element=x", "/rest/session_info", "/admin",
        "/liveness", "/ws/", "/static/", "/components/", "/%00", "/static/%00",
    ],
)  # fmt: skip
def test_nothing_else_is_served(app: AppServer, path: str) -> None:
    answer = app.ask(path, **app.known)
    assert answer.status in (400, 403, 404)
    assert "root:" not in answer.text
    assert "import " not in answer.text


@pytest.mark.parametrize("path", [path for path in PATHS if path.startswith(("/static", "/comp"))])
def test_what_the_page_loads_is_served_to_who_is_in(app: AppServer, path: str) -> None:
    assert app.ask(path).status == 403
    assert app.ask(path, Authorization="token wrong").status == 403
    assert app.ask(path, **app.known).status == 200
    assert app.ask(path, Cookie=app.cookie()).status == 200
    assert app.ask(path, Cookie=app.cookie() + "x").status == 403


def test_the_page_is_for_who_is_in_and_holds_no_secret(app: AppServer) -> None:
    for stranger in ({}, {"Authorization": "token wrong"}, {"Cookie": "dali-workbench-1=in"}):
        answer = app.ask("/", **stranger)
        assert "Bokeh" not in answer.text
        assert "login" in answer.text
    cookie = app.cookie()
    for page in (app.ask("/", Cookie=cookie), app.ask("/", **app.known)):
        assert page.status == 200
        token = page.text.split('"token":"')[1].split('"')[0]
        payload = base64.urlsafe_b64decode(token.partition(".")[0] + "===")
        for secret in (app.token, cookie.partition("=")[2]):
            assert secret not in page.text
            assert secret.encode() not in payload
    assert app.ask("/?bokeh-session-id=chosen", **app.known).status == 403


def test_the_login_takes_the_token_and_gives_a_cookie(app: AppServer) -> None:
    own = {"Origin": app.origin, "Content_Type": "application/x-www-form-urlencoded"}
    right = f"token={app.token}"
    answer = app.ask("/login", "POST", right, **own)
    assert (answer.status, answer.headers["Location"]) == (303, "./")
    attributes = {part.strip() for part in answer.headers["Set-Cookie"].split(";")[1:]}
    assert attributes == {"HttpOnly", "SameSite=Strict"}
    behind_tls = app.ask("/login", "POST", right, X_Forwarded_Proto="https", **own)
    assert "Secure" in behind_tls.headers["Set-Cookie"]
    for wrong in ("", "token=", "token=wrong", "token=%ff", f"token={app.token}2"):
        refused = app.ask("/login", "POST", wrong, **own)
        assert refused.status in (400, 403)
        assert "Set-Cookie" not in refused.headers
    assert app.ask("/login", "POST", right, Origin="http://evil.example").status == 403
    assert app.ask("/login", "POST", Content_Length="1000000", **own).status in (400, 413)
    assert app.ask("/login", Cookie=app.cookie()).status == 303


def test_a_link_elsewhere_leads_in_by_a_page_of_the_app(app: AppServer) -> None:
    """Browsers withhold a strict cookie where a link of another site leads here."""
    navigation = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    for headers in (navigation, {**navigation, "Cookie": app.cookie()}):
        answer = app.ask("/", **headers)
        assert answer.status == 200
        assert "location.replace(login)" in answer.text
        assert "Set-Cookie" not in answer.headers


def test_no_page_may_frame_the_app_and_it_sends_nothing_away(app: AppServer) -> None:
    for path in PATHS:
        headers = app.ask(path, **app.known).headers
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "connect-src 'self'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers or path.startswith("/static")


async def connect(app: AppServer, token: str, **headers: str) -> int:
    """The status of a websocket's handshake: 101 where it is let in."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = HTTPRequest(f"ws://127.0.0.1:{app.port}/ws", headers=named)
    try:
        socket = await websocket_connect(request, subprotocols=["bokeh", token])
    except HTTPClientError as error:
        return error.code
    socket.close()
    return 101


def test_a_websocket_is_let_in_from_the_app_alone(app: AppServer) -> None:
    cookie, evil = app.cookie(), f"http://evil.example:{app.port}"
    cases: list[tuple[int, dict[str, str]]] = [
        (101, {"Cookie": cookie, "Origin": app.origin}),
        (101, {**app.known}),
        (101, {**app.known, "Origin": app.origin}),
        (403, {"Cookie": cookie}),
        (403, {"Origin": app.origin}),
        (403, {}),
        (403, {"Cookie": cookie, "Origin": "http://127.0.0.1:1"}),
        (403, {"Cookie": cookie, "Origin": "null"}),
        (403, {"Cookie": cookie, "Origin": evil, "Host": evil.removeprefix("http://")}),
        (403, {**app.known, "Origin": evil}),
        (403, {"Cookie": cookie, "Origin": app.origin, "Sec_Fetch_Site": "cross-site"}),
        (403, {"Authorization": "token wrong"}),
    ]
    token = app.session_token()
    for status, headers in cases:
        assert run(connect(app, token, **headers)) == status, headers
