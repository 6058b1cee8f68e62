"""A stand-in for Google Cloud Storage that lists and serves a folder as the bucket ``bucket``.

The bucket ``denied`` is not readable, ``empty`` has no objects, ``silent`` never responds; there is
no other. ``python -m tests.sources.gcs_server FOLDER`` prints its port.
"""

from __future__ import annotations

import json
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from tests.sources.s3_server import ENDED, FOLDER, files_below
from tests.sources.s3_server import Handler as S3Handler

OBJECTS = ["storage", "v1", "b"]
"""How the path of a request for a list of objects, or for one of them, begins."""


class Handler(S3Handler):
    """The two requests that DALI sends: for a list of objects, and for the bytes of one."""

    def do_GET(self) -> None:  # noqa: N802
        asked = urlsplit(self.path)
        parts = unquote(asked.path).strip("/").split("/")
        assert parts[:3] == OBJECTS, parts
        bucket, name = parts[3], "/".join(parts[5:])
        if bucket == "silent":
            ENDED.wait()
        elif bucket == "denied":
            self._refuse(403, "Anonymous caller does not have storage.objects.list access")
        elif bucket not in ("bucket", "empty"):
            self._refuse(404, "The specified bucket does not exist.")
        elif not name:
            prefix = parse_qs(asked.query).get("prefix", [""])[0]
            sizes = files_below(prefix) if bucket == "bucket" else {}
            items = [object_of(bucket, each, size) for each, size in sizes.items()]
            self._answer(200, json.dumps({"kind": "storage#objects", "items": items}).encode())
        elif not (FOLDER / name).is_file():
            self._refuse(404, f"No such object: {bucket}/{name}")
        elif "alt=media" in asked.query:
            self._hand_out((FOLDER / name).read_bytes())
        else:
            found = object_of(bucket, name, (FOLDER / name).stat().st_size)
            self._answer(200, json.dumps(found).encode())

    def _refuse(self, code: int, message: str) -> None:
        self._answer(code, json.dumps({"error": {"code": code, "message": message}}).encode())


def object_of(bucket: str, name: str, size: int) -> dict[str, str]:
    """The description of an object."""
    found = {"kind": "storage#object", "bucket": bucket, "name": name}
    return {**found, "size": str(size), "generation": "1"}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
