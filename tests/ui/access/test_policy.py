from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from workbench.errors import WorkbenchError
from workbench.ui.access import AccessPolicy
from workbench.ui.access.policy import is_loopback

NAVIGATION = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


class Connection:
    context = None


def request(
    host: str = "127.0.0.1:5006", method: str = "GET", uri: str = "/", **headers: str
) -> HTTPServerRequest:
    given = HTTPHeaders({name.replace("_", "-"): value for name, value in headers.items()})
    given["Host"] = host
    line = RequestStartLine(method, uri, "HTTP/1.1")
    connection: Any = Connection()
    return HTTPServerRequest(start_line=line, headers=given, connection=connection)


def test_each_start_has_a_token_of_its_own() -> None:
    first, second = AccessPolicy(), AccessPolicy()
    assert len(first.token) == 48
    assert first.token != second.token
    assert first.token not in repr(first)
    assert first.link(5006) == f"http://127.0.0.1:5006/?token={first.token}"
    assert AccessPolicy(token="").link(5006) == "http://127.0.0.1:5006/"
    assert AccessPolicy(host="0.0.0.0", prefix="a/b/").url(80) == "http://127.0.0.1:80/a/b/"
    assert AccessPolicy(host="::1").url(80) == "http://[::1]:80/"


@pytest.mark.parametrize(
    "host", ["127.0.0.1:5006", "localhost", "LOCALHOST:99", "[::1]:5006", "127.0.0.1"]
)
def test_this_machine_is_called_by_its_own_names(host: str) -> None:
    assert AccessPolicy().host_refusal(request(host)) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:5006", "127.0.0.1.evil.example", "localhost.evil.example:5006", "10.0.0.1",
        "127.0.0.1:port", "[::1", "0.0.0.0:5006", "2130706433", "",
    ],
)  # fmt: skip
def test_every_other_name_is_refused(host: str) -> None:
    assert "--allow-host" in AccessPolicy().host_refusal(request(host))


def test_an_open_address_takes_numbers_and_names_that_were_allowed() -> None:
    policy = AccessPolicy(host="0.0.0.0", allow_hosts=("Photos.example.org:8443", "gpu7"))
    for host in ("10.0.0.7:5006", "[fe80::1]:5006", "photos.example.org", "gpu7:5006"):
        assert policy.host_refusal(request(host)) == ""
    for host in ("evil.example", "photos.example.org.evil.example", "gpu7.evil.example"):
        assert policy.host_refusal(request(host))


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:5006", "HTTP://127.0.0.1:5006", "https://photos.example.org", None]
)
def test_pages_of_the_app_may_ask(origin: str | None) -> None:
    policy = AccessPolicy(allow_hosts=("photos.example.org",))
    headers = {} if origin is None else {"Origin": origin}
    assert policy.origin_refusal(request(Sec_Fetch_Site="same-origin", **headers)) == ""


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example:5006", "http://127.0.0.1:8888", "http://127.0.0.1", "null", "",
        "file://", "ftp://127.0.0.1:5006", "127.0.0.1:5006", "http://127.0.0.1:5006.evil.example",
        "http://photos.example.org:8080", "http://evil@127.0.0.1:5006", "http://[::1",
        "chrome-extension://127.0.0.1:5006",
    ],
)  # fmt: skip
def test_pages_elsewhere_may_not(origin: str) -> None:
    policy = AccessPolicy(allow_hosts=("photos.example.org",))
    assert policy.origin_refusal(request(Origin=origin))
    assert policy.origin_refusal(request(Origin=origin, **NAVIGATION))


def test_a_link_elsewhere_may_lead_here_and_nothing_else_may() -> None:
    policy = AccessPolicy()
    for site in ("cross-site", "same-site"):
        assert policy.origin_refusal(request(Sec_Fetch_Site=site, **NAVIGATION)) == ""
        assert policy.origin_refusal(request(Sec_Fetch_Site=site))
        assert policy.origin_refusal(request(Sec_Fetch_Site=site, method="POST", **NAVIGATION))
        framed = {**NAVIGATION, "Sec-Fetch-Dest": "iframe"}
        assert policy.origin_refusal(request(Sec_Fetch_Site=site, **framed))
    assert policy.origin_refusal(request(Sec_Fetch_Site="none")) == ""


def test_the_token_is_known_from_the_address_or_a_header() -> None:
    policy = AccessPolicy(token="of-sixteen-letters")
    assert policy.has_valid_token(request(uri="/?token=of-sixteen-letters"))
    assert policy.has_valid_token(request(Authorization="token of-sixteen-letters"))
    assert policy.has_valid_token(request(Authorization="Bearer of-sixteen-letters"))
    for wrong in ("", "of-sixteen-letter", "of-sixteen-letters2", "\xe9", "OF-SIXTEEN-LETTERS"):
        assert not policy.has_valid_token(request(Authorization=f"token {wrong}"))
        assert not policy.has_valid_token(request(uri=f"/?token={wrong}"))
    assert not policy.has_valid_token(request(Authorization="Basic of-sixteen-letters"))
    assert not AccessPolicy(token="").has_valid_token(request(Authorization="token "))


@pytest.mark.parametrize(
    "options",
    [
        {"prefix": "/a b"}, {"prefix": "/(.*)"}, {"prefix": "//evil.example"},
        {"prefix": "/a/../b"}, {"token": "a\nb"}, {"token": "größe"},
        {"allow_hosts": ("http://x",)}, {"allow_hosts": ("x/y",)}, {"allow_hosts": ("",)},
        {"allow_hosts": ("[::1]:80",)},
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_at_the_start(options: dict[str, Any]) -> None:
    with pytest.raises(WorkbenchError, match=r"Give|Use|token"):
        AccessPolicy(**options)


def test_loopback_is_this_machine() -> None:
    near = ("127.0.0.1", "127.3.2.1", "::1", "localhost")
    far = ("0.0.0.0", "::", "10.0.0.1", "gpu7", "")
    assert all(map(is_loopback, near))
    assert not any(map(is_loopback, far))
