"""Tornado handlers that log browsers in and check every request before the application sees it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher, PathMatches, Rule
from tornado.web import Application, OutputTransform, RequestHandler, StaticFileHandler

from workbench.ui.access.cookie import AccessCookie
from workbench.ui.access.policy import AccessPolicy, is_cross_site_navigation

_SELF = "'self'"
# Bokeh's page contains inline scripts and compiles templates. The policy keeps the page from
# sending its content elsewhere.
_POLICY = "; ".join(
    [
        f"default-src {_SELF}",
        f"script-src {_SELF} 'unsafe-inline' 'unsafe-eval' blob:",
        f"style-src {_SELF} 'unsafe-inline'",
        f"img-src {_SELF} data: blob:",
        f"font-src {_SELF} data:",
        f"connect-src {_SELF} data: blob:",
        f"form-action {_SELF}",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "object-src 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>DALI Workbench</title>
<style>
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
  body { max-width: 26rem; margin: 18vh auto; padding: 0 1rem; }
  input, button { font: inherit; padding: 0.35rem 0.6rem; }
  input { width: 100%; box-sizing: border-box; margin: 0.4rem 0 0.8rem; }
</style>
"""
_LOGIN = """<h1>DALI Workbench</h1>
<form method="post" action="login">
  <label>Token
    <input name="token" type="password" autocomplete="current-password" autofocus required>
  </label>
  <p role="alert">{{said}}</p>
  <button>Log in</button>
</form>
<p>It is in the link that <code>workbench app</code> printed.</p>
<script>document.forms[0].action += location.hash;</script>
"""
# A strict cookie is sent with requests of this app's own pages, not when a link elsewhere opens the
# page. A reverse proxy may strip a prefix unknown here, and its trailing slash.
_CONTINUE = """<p><a href="login">Log in</a></p>
<script>
  const login = new URL(location);
  login.pathname = login.pathname.replace(/[/]?$/, "/login");
  login.search = "";
  location.replace(login);
</script>
"""


@dataclass(frozen=True)
class AccessContext:
    """Access policy, cookie and component files that the handlers use."""

    policy: AccessPolicy
    cookie: AccessCookie
    components: Mapping[str, Path]
    """Files that are served below ``components/``, by URL path."""

    def is_in(self, request: HTTPServerRequest) -> bool:
        """Return whether a request carries the token or a valid cookie."""
        if not self.policy.token or self.policy.has_valid_token(request):
            return True
        found = request.cookies.get(self.cookie.name)
        return found is not None and self.cookie.is_good(found.value)


def guard_handlers(application: Application, access: AccessContext) -> None:
    """Install handlers that check every request before the application handles it."""
    prefix = re.escape(access.policy.prefix)
    known = re.compile(rf"/favicon\.ico|{prefix}(/?|/ws|/static/(?!.*(\.\.|%00)).+)")
    rules = [
        Rule(_Matches(lambda request: _refusal(access, request)), _Refused),
        _path(f"{prefix}/login", _Login, access=access),
        Rule(_Matches(lambda request: _login_redirect(access, request)), _LoginRedirect),
        _path(rf"{prefix}/components/(.+)", _ComponentFile, files=access.components),
        Rule(_Matches(lambda request: _not_found(known, request)), _Refused),
    ]
    application.default_router.rules[:0] = map(application.default_router.process_rule, rules)
    application.transforms.append(_SecurityHeaders)


def _path(pattern: str, handler: type[RequestHandler], **settings: Any) -> Rule:
    return Rule(PathMatches(pattern), handler, settings)


class _Matches(Matcher):
    """Matches a request unless ``handler_arguments`` returns None for it."""

    def __init__(
        self, handler_arguments: Callable[[HTTPServerRequest], dict[str, Any] | None]
    ) -> None:
        self._handler_arguments = handler_arguments

    def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
        found = self._handler_arguments(request)
        return None if found is None else {"target_kwargs": found}


def _refusal(access: AccessContext, request: HTTPServerRequest) -> dict[str, Any] | None:
    policy = access.policy
    reason = policy.host_refusal(request) or policy.origin_refusal(request)
    websocket = "upgrade" in request.headers.get("Connection", "").lower()
    # Every browser sends an origin; a client that sends none must send the token itself.
    nameless = websocket and "Origin" not in request.headers
    if not reason and nameless and not policy.has_valid_token(request):
        reason = (
            "A websocket without an Origin header must send the token in an Authorization header."
        )
    if not reason and request.path != f"{policy.prefix}/" and _needs_token(access, request):
        reason = "This address needs the token that `workbench app` printed."
    return {"status": 403, "reason": reason} if reason else None


def _needs_token(access: AccessContext, request: HTTPServerRequest) -> bool:
    prefix = access.policy.prefix
    open_to_all = {"/favicon.ico", f"{prefix}/login", prefix}
    return request.path not in open_to_all and not access.is_in(request)


def _login_redirect(access: AccessContext, request: HTTPServerRequest) -> dict[str, Any] | None:
    """Return the arguments of ``_LoginRedirect``, or None if no login or redirect is needed."""
    page = f"{access.policy.prefix}/"
    if not access.policy.token or request.path not in (page, page[:-1]):
        return None
    by_token = access.policy.has_valid_token(request)
    if by_token and "token" in request.query_arguments:
        return {"access": access, "let_in": True}
    if is_cross_site_navigation(request) or not access.is_in(request):
        return {"access": access, "let_in": False}
    return None


def _not_found(known_paths: re.Pattern[str], request: HTTPServerRequest) -> dict[str, Any] | None:
    if known_paths.fullmatch(request.path):
        return None
    return {"status": 404, "reason": "Page not found."}


class _Refused(RequestHandler):
    """Sends the reason of a refusal as plain text, which browsers do not render as a page."""

    def initialize(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason

    def prepare(self) -> None:
        self.set_status(self.status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{self.reason}\n")


class _AccessHandler(RequestHandler):
    def initialize(self, access: AccessContext) -> None:
        self.access = access

    def set_access_cookie(self) -> None:
        tls = self.request.headers.get("X-Forwarded-Proto", self.request.protocol) == "https"
        self.set_cookie(
            self.access.cookie.name,
            self.access.cookie.make(),
            # Without a path the browser uses the folder of its own URL, also behind a proxy.
            path=f"{prefix}/" if (prefix := self.access.policy.prefix) else "",
            httponly=True,
            samesite="Strict",
            secure=tls,
        )

    def show(self, body: str) -> None:
        self.set_header("Cache-Control", "no-store")
        self.finish(_PAGE + body)


class _LoginRedirect(_AccessHandler):
    """Redirects to the login page, or back to the app if the user has just logged in."""

    def initialize(self, access: AccessContext, let_in: bool) -> None:  # type: ignore[override]
        super().initialize(access)
        self.let_in = let_in

    def prepare(self) -> None:
        if self.let_in:
            self.set_access_cookie()
        self.show(_CONTINUE)


class _Login(_AccessHandler):
    def get(self) -> None:
        if self.access.is_in(self.request):
            self._redirect_to_app()
        else:
            self.show(_LOGIN.replace("{{said}}", ""))

    def post(self) -> None:
        given = self.get_body_argument("token", "")
        if not self.access.policy.token or self.access.policy.is_token(given):
            self.set_access_cookie()
            self._redirect_to_app()
            return
        self.set_status(403)
        self.show(
            _LOGIN.replace(
                "{{said}}",
                escape("Wrong token."),
            )
        )

    def _redirect_to_app(self) -> None:
        self.redirect("./", status=303)


class _ComponentFile(StaticFileHandler):
    """Serves only files listed in a table, so that a URL cannot select another file or module."""

    def initialize(self, files: Mapping[str, Path]) -> None:  # type: ignore[override]
        self.files = files
        self.default_filename = None
        self.root = ""

    def parse_url_path(self, url_path: str) -> str:
        return url_path

    @classmethod
    def get_absolute_path(cls, root: str, path: str) -> str:
        return path

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        found = self.files.get(absolute_path)
        if found is None:
            self.send_error(404)
            return None
        return str(found)


class _SecurityHeaders(OutputTransform):
    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        for name, value in _HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk
