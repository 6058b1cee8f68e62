"""Triton's client against a server that speaks as much of its protocol as one question needs.

The protocol is KServe's v2 with the binary tensor data extension: a JSON header whose length stands
in ``Inference-Header-Content-Length``, then the tensors' bytes.
"""

from __future__ import annotations

import json
import re
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


def test_the_client_measures_the_server(server: Server, photos: Path, tmp_path: Path) -> None:
    pytest.importorskip("tritonclient", reason="tritonclient[http] is not installed")
    files = export(load_recipe("imagenet-eval"), "triton", CATALOG).files
    (tmp_path / "client.py").write_text(files["client.py"].text)
    url = f"127.0.0.1:{server.server_port}"
    photo = str(next(photos.rglob("*.jpg")))
    command = [sys.executable, "client.py", photo, "--url", url, "--requests", "6", "--clients"]
    done = subprocess.run([*command, "2"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^[\d.]+ requests/s from 2 clients$", done.stdout, re.M)
    assert re.search(r"^latency: median [\d.]+ ms, 95 % within [\d.]+ ms$", done.stdout, re.M)
    assert len(server.asked) == 1 + 4 * 2 + 6


def test_the_configuration_is_tritons_and_warms_up(photos: Path, tmp_path: Path) -> None:
    """Parsed by the message that Triton itself reads, where tritonclient brings it."""
    files = export(load_recipe("imagenet-eval"), "triton", CATALOG).files
    for name, code in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code.text)
    (model,) = tmp_path.rglob("dali.py")
    photo = next(photos.rglob("*.jpg"))
    for _ in range(2):  # a second time in the place of the first
        subprocess.run([sys.executable, str(model), "--warm-up", str(photo)], check=True)
    config = model.parents[1] / "config.pbtxt"
    assert (model.parents[1] / "warmup" / "photo").read_bytes() == photo.read_bytes()
    messages = pytest.importorskip("tritonclient.grpc.model_config_pb2")
    text_format = pytest.importorskip("google.protobuf.text_format")
    found = text_format.Parse(config.read_text(), messages.ModelConfig())
    assert found.dynamic_batching.max_queue_delay_microseconds == 500
    (warm_up,) = found.model_warmup
    assert warm_up.batch_size == found.max_batch_size == 64
    assert list(warm_up.inputs["IMAGE"].dims) == [photo.stat().st_size]


def test_what_is_for_training_is_left_out_and_told() -> None:
    def model(recipe: str, with_: str = "") -> str:
        files = export(load_recipe(recipe), "triton", CATALOG, with_=with_).files
        return next(code.text for name, code in files.items() if name.endswith("dali.py"))

    cutout = model("cutout")
    said = " ".join(cutout.split())
    assert "crop resizes the whole image instead of a random crop" in said
    assert "normalize uses the default of mirror. erase: omitted, because random." in said
    assert "fn.random" not in cutout
    assert "fn.erase" not in cutout
    assert "fn.resize(images, size=SIZE)" in cutout
    trained = model("cutout", "training")
    assert "Random for each request: crop, anchor, mirror." in trained
    assert "drawn" not in model("imagenet-eval")
