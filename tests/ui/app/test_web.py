"""The app without a browser."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.request import Request, urlopen

import param
import pytest

from tests.ui.labserver import await_server, free_port
from workbench.errors import GraphFormatError, WorkbenchError
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.web import PARTS, Session, serve

HOST = "127.0.0.1"


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda component: component.name)
def test_params_are_made_from_the_table(component) -> None:  # type: ignore[no-untyped-def]
    part = PARTS[component.name]
    for field in component.fields:
        if field.direction == "python":
            assert field.name not in part.param
            continue
        default = part.param[field.name].default
        if field.direction == "show" and isinstance(field.default, list | dict):
            default = json.loads(default)
        assert default == field.default
        if field.choices:
            assert part.param[field.name].objects == list(field.choices)
        if isinstance(field.default, bytes):
            assert isinstance(part.param[field.name], param.Bytes)


def test_many_fields_are_sent_in_one_go() -> None:
    session = Session.__new__(Session)
    session.parts = {"bar": PARTS["bar"]()}
    session._lock, session._loaded, session._waiting = threading.Lock(), True, {}
    asked: list[None] = []
    session._schedule_apply = lambda: asked.append(None)
    for text in ("measured", "saved"):
        session.publish("bar", "message", text)
    session.publish("bar", "title", "train")
    assert session._waiting == {"bar": {"message": "saved", "title": "train"}}
    assert len(asked) == 1


def test_lists_and_dicts_travel_as_json_that_a_browser_reads() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    session = Session.__new__(Session)
    session.parts = {"inspector": PARTS["inspector"]()}
    session._lock, session._loaded, session._waiting = threading.Lock(), False, {}
    session._document = None
    value = {"rows": [{"value": [float("nan"), 1.5, -float("inf")], "doc": "x\udc80é\u2028"}]}
    session.publish("inspector", "node", value)
    text = session._waiting["inspector"]["node"]
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse) == {
        "rows": [{"value": ["nan", 1.5, "-inf"], "doc": "x\udc80é\u2028"}]
    }


def test_a_port_in_use_is_told_with_the_remedy(photos: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(WorkbenchError, match=rf"Port {port} .* --port {port + 1}"):
            serve(photos, port=port)


def test_an_unknown_recipe_is_told_before_anything_is_served(photos: Path) -> None:
    with pytest.raises(GraphFormatError, match="simclr"):
        serve(photos, "simclrr")


def test_it_is_served_on_this_machine_only_and_asks_for_nothing_else(photos: Path) -> None:
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "workbench.cli", "app", f"--data={photos}", f"--port={port}"],
        env={**os.environ, "DALI_WORKBENCH_TOKEN": "of-sixteen-letters"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        url = f"http://{HOST}:{port}"
        await_server(f"{url}/favicon.ico", lambda: server.poll() is None)
        asked = Request(f"{url}/", headers={"Authorization": "token of-sixteen-letters"})
        with urlopen(asked) as answer:
            page = answer.read().decode()
        assert "<title>DALI Workbench</title>" in page
        addresses = [part.split('"')[0] for part in page.split('src="')[1:]]
        assert addresses
        assert not [address for address in addresses if "//" in address]
        listening = Path("/proc/net/tcp").read_text().splitlines()
        assert [line.split()[1] for line in listening if f":{port:04X} 00000000" in line] == [
            f"0100007F:{port:04X}"
        ]
    finally:
        server.send_signal(signal.SIGINT)
        printed, _ = server.communicate(timeout=30)
    assert f"DALI Workbench: {url}/?token=of-sixteen-letters\n" in printed
    assert "Traceback" not in printed
