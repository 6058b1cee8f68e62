"""Create and check the cookie by which the web app recognises a browser that has sent the token.

The cookie is signed with a secret that is stored for the user, so open pages reconnect after a
restart of the server.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from tornado.web import create_signed_value, decode_signed_value

MAX_AGE = 31
"""Number of days after which a cookie expires."""
_SIZE = 32


class AccessCookie:
    """The access cookie of one server: its name and the key that signs its values."""

    def __init__(self, folder: Path, token: str, port: int) -> None:
        """Create a cookie whose secret is stored in ``folder``. It is only valid for ``token``."""
        self.name = f"dali-workbench-{port}"  # browsers send a cookie to all ports of a host
        self.key = hmac.new(_secret(folder), token.encode(), hashlib.sha256).digest()

    def make(self) -> str:
        """Return a signed cookie value that is valid for ``MAX_AGE`` days."""
        return create_signed_value(self.key, self.name, "in").decode()

    def is_good(self, value: str | None) -> bool:
        """Return whether ``value`` was issued for the current token and has not expired."""
        return decode_signed_value(self.key, self.name, value, MAX_AGE) == b"in"


def _secret(folder: Path) -> bytes:
    """Read or create the user's secret. A secret that cannot be stored differs in each process."""
    path = folder / "cookie-secret"
    made = secrets.token_bytes(_SIZE)
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
            with open(os.open(path, flags, 0o600), "wb") as file:
                file.write(made)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            stored = file.read()
        if len(stored) == _SIZE and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            return stored
    return made
