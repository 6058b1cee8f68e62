"""Which requests the web app answers, told from their headers alone.

A page elsewhere may send a browser here in three ways, and none may work: by a name of its own that
leads to this machine (DNS rebinding: ``Host``), by a request across origins (``Origin``,
``Sec-Fetch-Site``), and by a websocket, which browsers let go anywhere.
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
    """A token that nobody guesses: 192 random bits in hexadecimal."""
    return secrets.token_hex(24)


@dataclass(frozen=True)
class AccessPolicy:
    """What the server listens on, and whom it answers.

    Parameters
    ----------
    host:
        The address to listen on.
    token:
        What a visitor must know, made where none is given; empty: nobody is asked.
    allow_hosts:
        Names by which browsers may reach the app, as a proxy's: ``name`` or ``name:port``.
    lasting_token:
        Whether the server is given that token at every start: browsers that were let in with
        another one have to log in again. With one that was made they stay in.
    prefix:
        What every path begins with: empty, or ``/`` and names.

    Raises WorkbenchError for what is none of these.
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
                f"{self.prefix!r} is no prefix. Give letters, digits, - and _, for example /dali."
            )
        for name in self.allow_hosts:
            if not _host_name(name) or set("/@[") & set(name):
                raise WorkbenchError(
                    f"{name!r} is no host. Give a name, with a port where the address has one, for "
                    "example photos.example.org or photos.example.org:8443."
                )
        if not (self.token.isascii() and self.token.isprintable()):
            raise WorkbenchError("The token has other characters than printable ASCII.")
        object.__setattr__(self, "prefix", prefix)
        object.__setattr__(self, "allow_hosts", tuple(name.lower() for name in self.allow_hosts))

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def url(self, port: int) -> str:
        """The address of the page, without the token."""
        name = LOOPBACK if self.host in ("", "0.0.0.0", "::") else self.host
        return f"http://{f'[{name}]' if ':' in name else name}:{port}{self.prefix}/"

    def link(self, port: int) -> str:
        """The address that lets a browser in."""
        return self.url(port) + (f"?token={self.token}" if self.token else "")

    def host_refusal(self, request: HTTPServerRequest) -> str:
        """Why the name by which the app is called is not one of its own; empty where it is."""
        given = request.headers.get("Host", "")
        name = _host_name(given)
        if name in {_host_name(each) for each in self.allow_hosts}:
            return ""
        if name in _LOOPBACK_NAMES or name == self.host.lower():
            return ""
        # A name can be made to lead anywhere; a number cannot be rebound.
        if not self.loopback and (_is_address(name) or name == socket.gethostname().lower()):
            return ""
        return f"{given[:80]!r} is no name of this app. `workbench app --allow-host NAME` adds one."

    def origin_refusal(self, request: HTTPServerRequest) -> str:
        """Why the page that sent a request may not; empty where it may, or none did."""
        if len(request.headers.get_list("Origin")) > 1:
            return "The request has two origins."
        origin = request.headers.get("Origin")
        if origin is not None and not self._is_own(origin, request):
            return f"The origin {origin[:80]!r} is not this app's."
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

    def knows_token(self, request: HTTPServerRequest) -> bool:
        """Whether a request carries the token itself, in its address or as ``Authorization``."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        found = [given.strip()] if scheme.lower() in ("token", "bearer") else []
        in_address = request.query_arguments.get("token", [])
        found += [each.decode("utf-8", "replace") for each in in_address]
        return any(map(self.is_token, found))

    def is_token(self, given: str) -> bool:
        """Compared in a time that tells nothing."""
        return bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from its own machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_cross_site_navigation(request: HTTPServerRequest) -> bool:
    """Whether a link elsewhere opens the page: the browser then withholds a strict cookie."""
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    return site not in ("same-origin", "none") and _is_navigation(request)


def _is_navigation(request: HTTPServerRequest) -> bool:
    """Whether a browser goes to a page, in a tab and not in a frame."""
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
    """Of ``name``, ``name:port`` or ``[address]:port``; empty for what is none."""
    try:
        found = urlsplit(f"//{host}")
        _ = found.port
    except ValueError:
        return ""
    return (found.hostname or "") if found.netloc == host else ""


def _parts(prefix: str) -> list[str]:
    return prefix.split("/")[1:] if prefix else []
