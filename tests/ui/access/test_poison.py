"""Hostile values in files, pictures, records and widget state: data, whatever they say."""

from __future__ import annotations

import ast
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.helpers import with_settings
from tests.poison import (
    HOSTILE_TEXTS,
    HOSTILE_VALUES,
    calls_of_mark,
    documents,
    judge,
    poisoned,
)
from tests.thorough import examples
from tests.ui.screen import Ready, Screen
from tests.ui.speed.records import stage_record, tune_record
from workbench.bench.records.record import load_report
from workbench.errors import GraphFormatError, RecordFormatError
from workbench.graph import load_recipe
from workbench.graph.storage.layout import load_document
from workbench.preview.requests.share import read_shared, write_shared
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.speed.record_payloads import require_drawable

SMALL = with_settings(load_recipe("rotate-jitter"), batch_size=2)


@pytest.mark.parametrize("name", ["operator constant", "step some of", "step drawn times"])
def test_every_kind_of_document_is_there(name: str) -> None:
    assert name in documents()
    assert sum(each.startswith("source ") for each in documents()) > 15
    assert sum(each.startswith("operator ") for each in documents()) > 150


@examples(60, thorough=20_000)
@given(st.integers(0, 2**40))
def test_no_value_of_a_document_becomes_code(seed: int) -> None:
    tally: Counter[str] = Counter()
    judge(random.Random(seed), tally)
    assert tally["refused"] + tally["with faults"] + tally["sound"] == 1


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    screen = Screen()
    folder = tmp_path_factory.mktemp("photos")
    model = ViewModel(folder, SMALL, screen.publish, restore=False, connected=False)
    yield model, screen
    model.close()


@examples(20, thorough=3000)
@given(st.integers(0, 2**40))
def test_a_page_answers_whatever_it_opens(page: Ready, seed: int) -> None:
    model, screen = page
    rng = random.Random(seed)
    name, data, path, value = poisoned(rng)
    if rng.random() < 0.5:
        _entangle(rng, data)
    model.act("bar", {"do": "open", "text": json.dumps(data)})
    where = f"{name} {path} {value!r:.60}: {screen['bar', 'message']}"
    assert "bug" not in screen["bar", "message"], where
    for node in [node.id for node in model.graph.walk()][:3]:
        model.receive("canvas", "selected", [node])
        model.act("canvas", {"do": "open_scope", "scope": f"{node}.then"})
    model.act("bar", {"do": "describe_cell"})
    model.receive("preview", "mode", rng.choice(("both", "difference", "compare")))
    model.act("bar", {"do": "undo"})
    assert "bug" not in screen["bar", "message"], where
    if source := screen["bar", "cell"].get("source"):
        ast.parse(source)
        assert not calls_of_mark("cell.py", source), where


def _entangle(rng: random.Random, data: Any) -> None:
    """Feed nodes from any others, themselves included, and give some bodies of others."""
    nodes = [node for node in data["nodes"] if isinstance(node, dict)] if _is_list(data) else []
    ids = [f"{node.get('id')}.{rng.choice(('output', 'images', 'data'))}" for node in nodes]
    for node in nodes:
        if ids and rng.random() < 0.3:
            inputs = node.get("inputs")
            inputs = inputs if isinstance(inputs, dict) else {}
            name = rng.choice([*inputs, "data", "condition", "images"])
            node["inputs"] = {**inputs, name: rng.choice(ids)}
        if rng.random() < 0.1:
            node["bodies"] = {"then": {"inputs": ["images"], "outputs": {"images": ids[0]}}}
        if rng.random() < 0.1:
            node["op"] = rng.choice(("if", "one_of", "repeat", "follow_boxes", "cast", "nothing"))


def _is_list(data: Any) -> bool:
    return isinstance(data.get("nodes"), list)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_the_text_in_a_shared_picture_is_data(text: str) -> None:
    data = json.loads(json.dumps(documents()["recipe rotate-jitter"]))
    data["name"] = data["nodes"][0]["op"] = text
    shared = write_shared(Image.new("RGB", (4, 4)), json.dumps(data))
    assert read_shared(shared) == json.dumps(data)
    if "\ud800" in text:
        with pytest.raises(GraphFormatError, match="lone surrogate"):
            load_document(read_shared(shared))
    else:
        assert load_document(read_shared(shared)).graph.name == text


@examples(40, thorough=4000)
@given(st.integers(0, 2**40))
def test_a_record_is_shown_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    data = json.loads(rng.choice((stage_record, tune_record))())
    holder, key = rng.choice(list(_holders(data)))
    holder[key] = rng.choice((*HOSTILE_TEXTS, *HOSTILE_VALUES))
    try:
        report = load_report(json.dumps(data))
        require_drawable(report)
    except RecordFormatError:
        return
    assert "<PWN" not in report._repr_html_()
    assert repr(report)


def test_a_record_that_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(RecordFormatError, match="not valid JSON"):
        load_report("[" * 100_000)


def _holders(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in a record: what holds it, and its key."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            if key not in ("format", "version"):
                yield value, key
            yield from _holders(value[key])


FIELDS = [
    (component.name, field.name)
    for component in COMPONENTS
    for field in component.fields
    if field.direction == "both"
]


@pytest.mark.parametrize(("component", "field"), FIELDS)
def test_the_state_of_a_widget_is_data(component: str, field: str, page: Ready) -> None:
    """What a saved notebook or a page may put into a field."""
    model, screen = page
    for value in (*HOSTILE_TEXTS[:8], *HOSTILE_VALUES):
        model.receive(component, field, value)
        model.handle_outbox(component, [{"n": value, "do": value}, value])
        assert "bug" not in screen["bar", "message"], (value, screen["bar", "message"])
    assert model.graph.nodes


def test_a_damaged_outbox_is_passed_over(page: Ready, tmp_path: Path) -> None:
    model, _ = page
    before = model.graph
    for outbox in (None, "PWN()", 3, {"n": 1}, [[]], [None], [{"n": "1", "do": "undo"}]):
        model.handle_outbox("bar", outbox)
    assert model.graph == before
