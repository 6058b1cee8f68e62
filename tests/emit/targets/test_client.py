"""Triton's client against a server that speaks as much of its protocol as one question needs.

The protocol is KServe's v2 with the binary tensor data extension: a JSON header whose length stands
in ``Inference-Header-Content-Length``, then the tensors' bytes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emit.targets.test_execute import CATALOG
from workbench.emit.targets import export
from workbench.graph import load_recipe

LENGTH = "Inference-Header-Content-Length"
ANSWER = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)


class Server(ThreadingHTTPServer):
    """Keeps what it was asked."""

    asked: list[tuple[str, dict[str, Any], bytes]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        end = int(self.headers[LENGTH])
        self.server.asked.append((self.path, json.loads(body[:end]), body[end:]))
        output = {
            "name": "images",
            "datatype": "FP32",
            "shape": ANSWER.shape,
            "parameters": {"binary_data_size": ANSWER.nbytes},
        }
        head = json.dumps({"model_name": "imagenet_eval", "outputs": [output]}).encode()
        self.send_response(200)
        self.send_header(LENGTH, str(len(head)))
        self.send_header("Content-Length", str(len(head) + ANSWER.nbytes))
        self.end_headers()
        self.wfile.write(head + ANSWER.tobytes())

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server(("127.0.0.1", 0), Handler)
    found.asked = []
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def test_the_client_sends_the_file_and_keeps_what_comes_back(
    server: Server, photos: Path, tmp_path: Path
) -> None:
    pytest.importorskip("tritonclient", reason="tritonclient[http] is not installed")
    files = export(load_recipe("imagenet-eval"), "triton", CATALOG).files
    (tmp_path / "client.py").write_text(files["client.py"].text)
    photo = next(photos.rglob("*.jpg"))
    url = f"127.0.0.1:{server.server_port}"
    command = [sys.executable, "client.py", str(photo), "--url", url, "--save", "kept.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "images: float32 (1, 2, 3, 4), mean 11.500" in done.stdout
    assert np.array_equal(np.load(tmp_path / "kept.npz")["images"], ANSWER)
    ((path, asked, sent),) = server.asked
    assert path == "/v2/models/imagenet_eval/infer"
    (image,) = asked["inputs"]
    size = photo.stat().st_size
    assert (image["name"], image["datatype"], image["shape"]) == ("IMAGE", "UINT8", [1, size])
    assert sent == photo.read_bytes()
