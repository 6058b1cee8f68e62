"""Access policy: decides from a request's headers alone whether the web app answers the request.

The policy blocks three attacks by pages of other sites: DNS rebinding (checked by ``Host``),
cross-origin requests (``Origin``, ``Sec-Fetch-Site``), and cross-site websockets, which browsers do
not block themselves.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tornado.httputil import HTTPServerRequest

from workbench.errors import WorkbenchError

LOOPBACK = "127.0.0.1"
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def make_token() -> str:
    """Return a random token of 192 bits in hexadecimal."""
    return secrets.token_hex(24)


@dataclass(frozen=True)
class AccessPolicy:
    """Listening address, token and allowed host names of the server.

    Parameters
    ----------
    host:
        The address to listen on.
    token:
        Token that a visitor must send. None: create one. Empty: allow everyone.
    allow_hosts:
        Names by which browsers may reach the app, such as a proxy's: ``name`` or ``name:port``.
    lasting_token:
        True if the token is the same at every start; cookies are then only valid for this token.
        If False, cookies stay valid although each start creates another token.
    prefix:
        Start of every URL path: empty, or ``/`` followed by names.

    Raises WorkbenchError for an invalid value.
    """

    host: str = LOOPBACK
    token: str = field(default_factory=make_token, repr=False)
    allow_hosts: tuple[str, ...] = ()
    prefix: str = ""
    lasting_token: bool = False

    def __post_init__(self) -> None:
        prefix = "/" + self.prefix.strip("/") if self.prefix.strip("/") else ""
        if not all(part.replace("-", "").replace("_", "").isalnum() for part in _parts(prefix)):
            raise WorkbenchError(
                f"{self.prefix!r} is not a valid prefix. Use letters, digits, - and _, for example "
                "/dali."
            )
        for name in self.allow_hosts:
            if not _host_name(name) or set("/@[") & set(name):
                raise WorkbenchError(
                    f"{name!r} is not a host. Use a name, and a port if the address has one, for "
                    "example photos.example.org or photos.example.org:8443."
                )
        if not (self.token.isascii() and self.token.isprintable()):
            raise WorkbenchError("The token contains characters other than printable ASCII.")
        object.__setattr__(self, "prefix", prefix)
        object.__setattr__(self, "allow_hosts", tuple(name.lower() for name in self.allow_hosts))

    @property
    def loopback(self) -> bool:
        """True if only this machine can connect to the server."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """Return the URL of the page without the token."""
        name = LOOPBACK if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{self.prefix}/"

    def link(self, port: int) -> str:
        """Return the URL of the page with the token."""
        return self.url(port) + (f"?token={self.token}" if self.token else "")

    def host_refusal(self, request: HTTPServerRequest) -> str:
        """Return the reason why the request's ``Host`` is refused; "" if it is allowed."""
        given = request.headers.get("Host", "")
        name = _host_name(given)
        if name in {_host_name(each) for each in self.allow_hosts}:
            return ""
        if name in _LOOPBACK_NAMES or name == self.host.lower():
            return ""
        # A host name can be rebound to any address; a numeric address cannot.
        if not self.loopback and (_is_address(name) or name == socket.gethostname().lower()):
            return ""
        return (
            f"{given[:80]!r} is not an allowed host. Start with `workbench app --allow-host NAME`."
        )

    def origin_refusal(self, request: HTTPServerRequest) -> str:
        """Return the reason why the request's origin is refused; "" if it is allowed or missing."""
        if len(request.headers.get_list("Origin")) > 1:
            return "The request has more than one Origin header."
        origin = request.headers.get("Origin")
        if origin is not None and not self._is_own(origin, request):
            return f"The origin {origin[:80]!r} does not belong to this app."
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        if site in ("same-origin", "none") or _is_navigation(request):
            return ""
        return "A page of another site sent this request."

    def _is_own(self, origin: str, request: HTTPServerRequest) -> bool:
        try:
            found = urlsplit(origin)
        except ValueError:
            return False
        place = found.netloc.lower().removesuffix(_DEFAULT_PORTS.get(found.scheme, "\0"))
        host = request.headers.get("Host", "").lower()
        own = {host, host.removesuffix(_DEFAULT_PORTS.get(found.scheme, "\0")), *self.allow_hosts}
        return found.scheme in _DEFAULT_PORTS and bool(place) and place in own

    def has_valid_token(self, request: HTTPServerRequest) -> bool:
        """Return whether a request contains the token in its URL or ``Authorization`` header."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        found = [given.strip()] if scheme.lower() in ("token", "bearer") else []
        in_address = request.query_arguments.get("token", [])
        found += [each.decode("utf-8", "replace") for each in in_address]
        return any(map(self.is_token, found))

    def is_token(self, token: str) -> bool:
        """Return whether ``token`` equals the server's token, compared in constant time."""
        return bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Return whether an address is a loopback address, such as ``localhost`` or ``127.0.0.1``."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_cross_site_navigation(request: HTTPServerRequest) -> bool:
    """Return whether a link on another site opened the page. Strict cookies are not sent then."""
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    return site not in ("same-origin", "none") and _is_navigation(request)


def _is_navigation(request: HTTPServerRequest) -> bool:
    """Return whether the request opens a page in a browser tab, not in a frame."""
    return (
        request.method == "GET"
        and request.headers.get("Sec-Fetch-Mode") == "navigate"
        and request.headers.get("Sec-Fetch-Dest") == "document"
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_name(host: str) -> str:
    """Return the name in ``name``, ``name:port`` or ``[address]:port``; "" if it is invalid."""
    try:
        found = urlsplit(f"//{host}")
        _ = found.port
    except ValueError:
        return ""
    return (found.hostname or "") if found.netloc == host else ""


def _parts(prefix: str) -> list[str]:
    return prefix.split("/")[1:] if prefix else []
