"""What is kept of a session comes back, and its file opens as the graph that it holds."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest

from tests.helpers import WRITABLE
from workbench.graph import Graph, Node, load_graph, load_recipe
from workbench.graph.storage.layout import Document, Layout
from workbench.ui.state.history import HistoryStep
from workbench.ui.storage.session_file import STEPS, Session, SessionSerializer, load_session

GIVEN = Document(load_recipe("rotate-jitter"))


def named(name: str) -> Document:
    return Document(replace(GIVEN.graph, name=name), Layout({"rotate": (12.5, -3.0)}))


SESSION = Session(
    named("now"),
    (HistoryStep(GIVEN), HistoryStep(named("before"), ((0, -1), (3, 2)))),
    (HistoryStep(named("undone"), label="start afresh"),),
    {"data": "/photos"},
    ("rotate",),
    "",
    {"tab": "code", "batch": 3},
)


def test_a_session_comes_back_whole() -> None:
    text = SessionSerializer().dump(SESSION)
    assert load_session(text) == SESSION
    assert load_graph(text) == SESSION.document.graph


def test_steps_that_were_kept_without_a_label_come_back() -> None:
    data = json.loads(SessionSerializer().dump(SESSION))
    entry = data["session"]
    kept = json.loads(zlib.decompress(base64.b64decode(entry["history"])))
    old = [[step[:2] for step in each] for each in kept]
    entry["history"] = base64.b64encode(zlib.compress(json.dumps(old).encode())).decode()
    session = load_session(json.dumps(data))
    assert session.before == SESSION.before
    assert [step.label for step in session.undone] == [""]


def test_documents_are_dumped_once() -> None:
    writer = SessionSerializer()
    first = writer.dump(SESSION)
    known = {id(document) for document, _ in writer._texts.values()}
    assert writer.dump(SESSION) == first
    assert {id(document) for document, _ in writer._texts.values()} == known


def test_the_last_steps_are_kept() -> None:
    steps = tuple(HistoryStep(named(str(number))) for number in range(STEPS + 5))
    kept = load_session(SessionSerializer().dump(replace(SESSION, before=steps))).before
    assert kept == steps[5:]


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"history": "no base64"},
        {"history": "AAAA", "data": [], "selected": "x", "scope": 7},
        {"data": {"data": 1}, "selected": [1]},
    ],
)
def test_what_cannot_be_read_costs_nobody_the_graph(entry: Any) -> None:
    data = json.loads(SessionSerializer().dump(SESSION)) | {"session": entry}
    assert load_session(json.dumps(data)) == Session(SESSION.document)


@pytest.mark.parametrize("text", [*WRITABLE, "x" * 10_000, "\U0001f98a" * 3000])
def test_hostile_names_come_back_as_they_were(text: str) -> None:
    graph = Graph(text, text, (Node("n", "no.such.operator", {"value": (text, 1.5, True)}),))
    session = Session(Document(graph), (HistoryStep(GIVEN),), selected=(text,))
    assert load_session(SessionSerializer().dump(session)) == session
