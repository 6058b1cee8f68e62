"""The cookie of a browser that has shown the token.

It is signed by a secret of the user's, which outlives the server: a page that was open finds its
way back to a server that was started again.
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
"""Days."""
_SIZE = 32


class AccessCookie:
    """The name and the value of one server's cookie."""

    def __init__(self, folder: Path, token: str, port: int) -> None:
        """``folder`` keeps the secret; with another ``token`` that was given none is good."""
        self.name = f"dali-workbench-{port}"  # browsers send a cookie to all ports of a host
        self.key = hmac.new(_secret(folder), token.encode(), hashlib.sha256).digest()

    def make(self) -> str:
        """A value that is good for ``MAX_AGE`` days."""
        return create_signed_value(self.key, self.name, "in").decode()

    def is_good(self, value: str | None) -> bool:
        """Whether a value was made here."""
        return decode_signed_value(self.key, self.name, value, MAX_AGE) == b"in"


def _secret(folder: Path) -> bytes:
    """Of the user, made at the first call; where it cannot be kept, of this server only."""
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
            kept = file.read()
        if len(kept) == _SIZE and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
            return kept
    return made
