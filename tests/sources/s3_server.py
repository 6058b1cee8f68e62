"""A stand-in for S3 that lists and hands out the files of a folder as the bucket ``bucket``.

The bucket ``denied`` is not readable, ``empty`` is empty, ``silent`` does not respond; there is no
other.

``python s3_server.py FOLDER`` prints its port. A process of its own: DALI holds the interpreter's
lock while it waits.
"""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

FOLDER = Path(sys.argv[1])


ENDED = threading.Event()
ERROR = b"<Error><Code>%b</Code><Message>%b</Message></Error>"


def files_below(prefix: str) -> dict[str, int]:
    """Keys and sizes in bytes."""
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    named = {path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in files}
    return {name: size for name, size in named.items() if name.startswith(prefix)}


def listing(sizes: dict[str, int]) -> bytes:
    """S3's answer of all objects at once."""
    found = "".join(
        f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size></Contents>"
        for name, size in sizes.items()
    )
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return (
        f'<ListBucketResult xmlns="{space}"><Name>bucket</Name>'
        f"<IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
    ).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = parse_qs(asked.query)
        bucket = asked.path.strip("/").partition("/")[0]
        if bucket == "silent":
            ENDED.wait()
        elif bucket == "denied":
            self._answer(403, ERROR % (b"AccessDenied", b"Access Denied"))
        elif bucket not in ("bucket", "empty"):
            self._answer(404, ERROR % (b"NoSuchBucket", b"The bucket does not exist"))
        elif bucket == "empty":
            self._answer(200, listing({}))
        else:
            self._hand_out_bucket(asked.path, query)

    def _hand_out_bucket(self, place: str, query: dict[str, list[str]]) -> None:
        path = FOLDER / unquote(place).removeprefix("/bucket").lstrip("/")
        if "list-type" in query:
            self._answer(200, listing(files_below(query.get("prefix", [""])[0])))
        elif not path.is_file():
            self._answer(404, b"")
        else:
            self._hand_out(path.read_bytes())

    def _hand_out(self, content: bytes) -> None:
        wanted = self.headers.get("Range")
        if wanted is None:
            self._answer(200, content)
            return
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        end = min(int(last or len(content)), len(content) - 1)
        part = content[int(first) : end + 1]
        self._answer(206, part, f"bytes {first}-{end}/{len(content)}")

    def _answer(self, status: int, content: bytes, part: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if part:
            self.send_header("Content-Range", part)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
